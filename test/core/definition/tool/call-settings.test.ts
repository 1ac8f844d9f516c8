/** The form of an agent's settings. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'

const withSettings = (settings: unknown) => () => defineWorker({ instructions: 'x', settings: settings as never })

test.each([
  [{}],
  [{ temperature: 0 }],
  [{ temperature: 2, maxOutputTokens: 1, effort: 'none', stop: 'a' }],
  [{ stop: ['a', 'b'], providerOptions: { acme: {} } }],
])('%j are settings', (settings) => {
  expect(withSettings(settings)).not.toThrow()
})

test.each([
  [null, /^settings must be an object, not null\.$/],
  [[], /^settings must be an object/],
  [{ temprature: 1 }, /^settings does not know "temprature"; it takes .* Did you mean temperature\?$/],
  [{ temperature: 'hot' }, /^settings.temperature must be a number from 0 to 2, not "hot"\.$/],
  [{ temperature: -1 }, /settings.temperature/],
  [{ temperature: Number.NaN }, /settings.temperature/],
  [{ temperature: null }, /settings.temperature/],
  [{ maxOutputTokens: 0 }, /^settings.maxOutputTokens must be a whole number from 1/],
  [{ maxOutputTokens: 1.5 }, /settings.maxOutputTokens/],
  [{ maxOutputTokens: '100' }, /settings.maxOutputTokens/],
  [{ effort: 'hgh' }, /^settings.effort must be one of none, minimal, .* Did you mean high\?$/],
  [{ effort: 3 }, /settings.effort/],
  [{ stop: '' }, /^settings.stop must be a text or up to 16 texts/],
  [{ stop: [] }, /settings.stop/],
  [{ stop: [1] }, /settings.stop/],
  [{ stop: Array.from({ length: 17 }, () => 'x') }, /settings.stop/],
  [{ providerOptions: { openai: true } }, /^settings.providerOptions must hold an object for each provider/],
  [{ providerOptions: [] }, /settings.providerOptions/],
  [{ providerOptions: { openai: { n: 1n } } }, /settings.providerOptions/],
] as const)('call setting %# is refused with a sentence', (settings, sentence) => {
  expect(withSettings(settings)).toThrow(sentence)
})
