/**
 * Duty: what entries have in common, so that the pack of a short history holds little more than what was said in it.
 * PACK-DICTIONARY-1 It never changes: packs that were made with it are read with it. A better one comes with a codec of its own (PACK-3).
 */
import { Buffer } from 'node:buffer'

/** The most frequent texts come last. */
const common = [
  '{"takenOver":{"start":2,"node":"","lastWords":""},',
  '{"type":"askWithdrawn","v":1,"at":17,"toolCallId":"","ask":""}',
  '{"type":"cleared","v":1,"at":17,"firstKept":"","results":1}',
  '{"type":"compacted","v":1,"at":17,"text":"","owed":"","firstKept":"","model":"","usage":{"inputTokens":0,"outputTokens":0},"messages":0,"tokensBefore":0,"tokensAfter":0}',
  '{"type":"ordered","v":1,"at":17,"message":"inbox:0","order":{"kind":"compact"}}',
  '{"type":"configured","v":1,"at":17,"message":"inbox:0","model":"anthropic/claude-","settings":{"temperature":0}}',
  '{"type":"retried","v":1,"at":17,"reopened":[],"messageId":""}',
  '{"type":"asked","v":1,"at":17,"toolCallId":"","asks":[{"id":"","sort":"approval","question":"","expiresMs":0}]}',
  '{"type":"delegated","v":1,"at":17,"toolCallId":"","spawned":[{"call":1,"id":"","kind":"","name":"","facts":[]}]}',
  '{"type":"toolStarted","v":1,"at":17,"toolCallId":"","toolName":""}',
  '{"type":"attemptFailed","v":1,"at":17,"failure":{"code":"","message":"","origin":"handler","at":17,"retryable":true,"details":{},"stack":"Error: \\n    at "},"retryMs":0}',
  '{"type":"failed","v":1,"at":17,"failure":{"code":"run_failed","message":"","origin":"model","at":17}}',
  '{"type":"cancelled","v":1,"at":17,"run":1,"epoch":1}',
  '{"type":"step","v":1,"at":17,"name":"","value":{}}',
  '"spawned":[{"call":1,"id":"","kind":"","name":"","detached":true}],"sent":[""],"timers":[{"id":"","ms":60000}],"asks":[]}',
  '{"type":"received","v":1,"at":17,"message":{"kind":"result","id":"results:0","from":"","call":1,"status":"completed","name":"","kindOfWorker":"","value":null}',
  '{"type":"received","v":1,"at":17,"message":{"kind":"timer","id":"signals:0","value":null}}',
  '{"type":"received","v":1,"at":17,"message":{"kind":"input","id":"inbox:0","from":null,"value":""}}',
  '{"type":"completed","v":1,"at":17,"run":2,"epoch":2,"value":{"text":"","finishReason":"stop"}}',
  '{"type":"user","v":1,"at":17,"run":2,"epoch":2,"id":"inbox:0","content":""}',
  '"output":{"type":"json","value":{"path":"","lines":0,"bytes":0,"error":false,"items":[]}},"facts":{}}',
  '{"type":"toolResult","v":1,"at":17,"id":"","toolCallId":"call_","toolName":"","status":"ok","output":{"type":"text","value":""}}',
  '{"type":"assistant","v":1,"at":17,"id":"","model":"","content":[{"type":"reasoning","text":"","providerOptions":{"anthropic":{"signature":""}}},{"type":"text","text":""},{"type":"tool-call","toolCallId":"call_","toolName":"","input":{"path":""}}],"finishReason":"tool-calls","usage":{"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"costMicroUsd":0}}',
  '{"type":"assistant","v":1,"at":17,"id":"","model":"anthropic/claude-","content":"","finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}',
]

export const packDictionary: Buffer = Buffer.from(common.join('\n'))
