/** How many tokens a model takes, from the table of models. */
import { expect, test } from 'vitest'
import { contextWindow } from '../../src/models/context-window.ts'

test.each(['openai/gpt-4o', 'openai-chat/gpt-4o', 'anthropic/claude-sonnet-4-5'])(
  'the context window of %s is known',
  async (name) => {
    expect(await contextWindow(name)).toBeGreaterThanOrEqual(100_000)
  },
)

test.each(['offline/rules', 'openai/no-such-model', 'nobody/gpt-4o', '', '/', 'ollama/own-model'])(
  'the context window of %j is not known',
  async (name) => {
    expect(await contextWindow(name)).toBeNull()
  },
)
