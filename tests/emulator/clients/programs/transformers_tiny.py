"""Tiny models of Transformers, built from a config: training steps, generate, the Trainer."""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
)

torch.manual_seed(0)
tokens = torch.randint(3, 64, (4, 12))
common = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def train(model, steps=6, **batch):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        loss = model(**{k: v.to(model.device) for k, v in batch.items()}).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    return losses


def language_models():
    gpt = GPT2Config(
        vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, **common,
    )  # fmt: skip
    llama = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, **common,
    )  # fmt: skip
    for config, kind in ((gpt, GPT2LMHeadModel), (llama, LlamaForCausalLM)):
        for attention in ("eager", "sdpa"):
            config._attn_implementation = attention
            torch.manual_seed(1)
            on_cpu = kind(config)
            on_cuda = kind(config)
            on_cuda.load_state_dict(on_cpu.state_dict())
            on_cuda.cuda()
            a = train(on_cpu, input_ids=tokens, labels=tokens)
            b = train(on_cuda, input_ids=tokens, labels=tokens)
            assert all(abs(p - q) < 1e-3 for p, q in zip(a, b, strict=True)), (a, b)
            on_cpu.eval(), on_cuda.eval()
            mask = torch.ones_like(tokens)
            mask[0, :4] = 0
            for options in ({}, {"num_beams": 3}):
                ids = [
                    m.generate(
                        tokens.to(m.device),
                        attention_mask=mask.to(m.device),
                        max_new_tokens=6,
                        do_sample=False,
                        **options,
                    ).cpu()
                    for m in (on_cpu, on_cuda)
                ]
                assert torch.equal(*ids), ids
            sampled = on_cuda.generate(
                tokens.cuda(), attention_mask=mask.cuda(), max_new_tokens=5, do_sample=True,
                top_k=5, top_p=0.9, temperature=0.7,
            )  # fmt: skip
            assert sampled.is_cuda
            half = on_cuda.half()
            assert half.generate(tokens.cuda(), max_new_tokens=3, do_sample=False).is_cuda
    try:
        on_cuda(tokens)
    except RuntimeError as error:
        assert "Expected all tensors to be on the same device" in str(error), error
    else:
        raise AssertionError("the tokens were on the CPU")


def others():
    bert = BertConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, num_labels=3,
    )  # fmt: skip
    labels = torch.tensor([0, 1, 2, 0])
    train(BertForSequenceClassification(bert).cuda(), input_ids=tokens, labels=labels, steps=10)
    t5 = T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = T5ForConditionalGeneration(t5).cuda()
    train(model, input_ids=tokens, labels=tokens, steps=10)
    assert model.eval().generate(tokens.cuda(), max_new_tokens=4).is_cuda


def with_trainer():
    config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2, **common)
    data = [{"input_ids": row, "labels": row} for row in torch.randint(3, 64, (24, 8))]
    for precision in ({"fp16": True}, {"bf16": True}):
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder, max_steps=6, per_device_train_batch_size=4, report_to=[], disable_tqdm=True,
                gradient_accumulation_steps=2, save_steps=3, logging_steps=3, optim="adamw_torch",
                eval_strategy="steps", eval_steps=3, dataloader_num_workers=0, **precision,
            )  # fmt: skip
            trainer = Trainer(
                GPT2LMHeadModel(config), arguments, train_dataset=data, eval_dataset=data
            )
            assert trainer.args.device.type == "cuda"
            result = trainer.train()
            assert result.global_step == 6 and result.training_loss > 0
            assert trainer.predict(data).predictions.shape == (24, 8, 64)
            trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-3")


language_models()
others()
with_trainer()
