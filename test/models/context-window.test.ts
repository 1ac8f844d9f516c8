/** How many tokens a model takes, from the table of models. */
import { expect, test } from 'vitest'
import { contextWindow } from '../../src/models/context-window.ts'

test.each(['openai/gpt-4o', 'openai-chat/gpt-4o', 'anthropic/claude-sonnet-4-5'])('is known of %s', async (name) => {
  expect(await contextWindow(name)).toBeGreaterThanOrEqual(100_000)
})

test.each(['offline/rules', 'openai/no-such-model', 'nobody/gpt-4o', '', '/', 'ollama/own-model'])(
  'is not known of %j',
  async (name) => {
    expect(await contextWindow(name)).toBeNull()
  },
)
