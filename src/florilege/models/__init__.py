"""Language models and rerankers: adapters over vendors' libraries, endpoints, local models and functions."""

from florilege.models.anthropic_api import AnthropicAdapter, anthropic
from florilege.models.calling import CheckedModel, as_model, as_reranking, from_function
from florilege.models.cross_encoders import CrossEncoderReranker, OnnxReranker, cross_encoder, onnx
from florilege.models.endpoints import NativeReranker, native
from florilege.models.judge import JudgeReranker, judge_reranker
from florilege.models.naming import named_model
from florilege.models.openai_api import OpenAIAdapter, openai
from florilege.models.structured import field_of, json_of, object_schema, structured
from florilege.models.vendor import Price

__all__ = [
    "AnthropicAdapter",
    "CheckedModel",
    "CrossEncoderReranker",
    "JudgeReranker",
    "NativeReranker",
    "OnnxReranker",
    "OpenAIAdapter",
    "Price",
    "anthropic",
    "as_model",
    "as_reranking",
    "cross_encoder",
    "field_of",
    "from_function",
    "json_of",
    "judge_reranker",
    "named_model",
    "native",
    "object_schema",
    "onnx",
    "openai",
    "structured",
]
