/** Duty: the models of a test: each kind with scripted replies gets a model that gives them. */
import type { ModelSource } from '../core/definition/model.ts'
import { TerminalError } from '../core/errors.ts'
import { scriptedModel } from '../models/local/scripted-model.ts'
import type { Replies } from './crash/node/node-order.ts'

/** A model that gives the replies of this kind in order, in any process. The request shows how many replies were given before. */
export function scriptedReplies(kind: string, replies: Replies): ModelSource | null {
  const script = replies[kind]
  if (script === undefined) return null
  const model = scriptedModel(`scripted/${kind}`, ({ idempotencyKey }) => {
    const number = Number.parseInt(idempotencyKey.split('/')[2] ?? '', 10)
    const missing = `the replies of kind "${kind}" are ${script.length}, and number ${number} was asked for.`
    return script[number - 1] ?? new TerminalError(missing)
  })
  return { open: () => model }
}
