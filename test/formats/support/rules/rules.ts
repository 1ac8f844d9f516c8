/** Duty: the published rules of each format, as checks of a text that was written: one line for each fault. */
import { alternating, amazonQ, paired, row } from './pair-rules.ts'
import { agentEnv, chatMessage, chatMessageLog, flat, fsm, llmCore } from './program-rules.ts'
import { aiSdk, anthropic, gemini, ollama, openaiChat, openaiResponses } from './provider-rules.ts'
import type { Rule } from './rule.ts'

/** Formats without rules of their own are not listed. */
export const rules: Readonly<Record<string, Rule>> = {
  'agent-env': agentEnv,
  'ai-sdk': aiSdk,
  alternating,
  'amazon-q': amazonQ,
  'amazon-q-row': row,
  anthropic,
  'chat-message': chatMessage,
  'chat-message-blocks': chatMessage,
  'chat-message-log': chatMessageLog,
  flat,
  fsm,
  'fsm-snake': fsm,
  gemini,
  'kiro-row': row,
  'llm-core': llmCore,
  ollama,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  paired,
}
