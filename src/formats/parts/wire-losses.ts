/** Duty: what hardly any format for models can carry, said once. */

import { handoffMark } from '../../core/history/prompt/prompt-fold.ts'
import type { Losses } from '../format.ts'

export const noResultMedia = { resultMedia: 'become a note in the text' } as const satisfies Losses

/** A request to a model holds what the model reads, and nothing about it. */
export const ofRequests = {
  senders: 'left out',
  facts: 'left out',
  emptyMessages: 'left out',
  errors: 'left out',
  summaries: `become the text of a user that begins with ${handoffMark}`,
  summaryCounts: 'left out',
  ids: 'left out',
  times: 'left out',
  resultTimes: 'left out',
  models: 'left out, except that of the newest reply where its provider is this one',
  usage: 'left out',
  finishReasons: 'left out',
  unknownResults: 'only the text says so',
  cancelledResults: 'only the text says so',
  ...noResultMedia,
} as const satisfies Losses

export const noImages = {
  images: 'become a note in the text',
  imageLinks: 'become a note in the text',
} as const satisfies Losses
export const noAudio = {
  audio: 'becomes a note in the text',
  audioLinks: 'becomes a note in the text',
} as const satisfies Losses
export const noFiles = { files: 'become a note in the text' } as const satisfies Losses
export const noReasoning = { reasoning: 'left out', signedReasoning: 'left out' } as const satisfies Losses
export const oneText = {
  blockOrder: 'the texts of a reply become one, and stand before its calls',
  reasoningOrder: 'reasoning stands before the text',
} as const satisfies Losses
export const objectsOnly = {
  plainArguments: 'go under the name `arguments` of an object',
  badArguments: 'go under the name `arguments` of an object',
} as const satisfies Losses
export const textResults = { jsonResults: 'become the text of the JSON' } as const satisfies Losses
export const strictNames = {
  oddCallIds: 'are replaced by others',
  oddToolNames: 'are replaced by others',
} as const satisfies Losses
