/**
 * Duty: what an access token may give its sessions to spend within an hour: the part of its ceiling that is about time.
 * ALLOWANCE-1 What is counted is what sessions may spend, and not what they have spent: whatever they do later, they cannot spend more than was counted.
 * ALLOWANCE-2 It is counted in Redis, so that it holds over servers. A request that is repeated under its key counts once. A request that fails later
 * counts too.
 * ALLOWANCE-3 What was counted for a session is never less than the highest limit that it got: a lowered limit gives nothing back. So a limit that is lowered
 * while it is being raised needs no count of its own.
 */
import { randomUUID } from 'node:crypto'
import { Troupe } from '../../client/client.ts'
import { type Allowance, defaultSpending, policy, type Spending } from '../../core/policy.ts'
import { ApiError } from '../problem.ts'
import type { Call } from '../route.ts'

/** How long a request without a key is remembered: only the server itself sends it again. */
const unkeyedMs = 60_000

const words: Readonly<Record<keyof Allowance, string>> = {
  sessions: 'sessions',
  modelCalls: 'model calls',
  tokens: 'tokens',
  toolCalls: 'tool calls',
}

type Limits = Partial<Record<keyof Spending, number | undefined>>

/** Counts what a session that is created with these limits may spend. Throws an ApiError that says when there is room for it. */
export async function giveToNew(call: Call, limits: Limits = {}): Promise<void> {
  await give(call, { sessions: 1, ...spendingOf(limits, defaultSpending) })
}

/** Counts what a session may spend in addition when its limits are set to these. */
export async function giveMore(call: Call, sessionId: string, limits: Limits = {}): Promise<void> {
  if (call.caller.ceiling?.perHour === undefined) return
  const { limits: before } = await call.troupe.sessions.get(sessionId).summary()
  const after = spendingOf(limits, before)
  const raised = (name: keyof Spending) => Math.max(0, after[name] - before[name])
  const more = { modelCalls: raised('modelCalls'), tokens: raised('tokens'), toolCalls: raised('toolCalls') }
  if (Object.values(more).some((amount) => amount > 0)) await give(call, { sessions: 0, ...more })
}

function spendingOf({ modelCalls, tokens, toolCalls }: Limits, absent: Spending): Spending {
  return {
    modelCalls: modelCalls ?? absent.modelCalls,
    tokens: tokens ?? absent.tokens,
    toolCalls: toolCalls ?? absent.toolCalls,
  }
}

async function give({ caller, troupe, request, body, idempotencyKey }: Call, more: Allowance): Promise<void> {
  const most = caller.ceiling?.perHour
  if (most === undefined) return
  // Another request under the same key counts by itself: not every route refuses it at another server.
  const asked = JSON.stringify([request.method, request.url, body, idempotencyKey ?? randomUUID()])
  const knownMs = idempotencyKey === undefined ? unkeyedMs : policy.givenKeyMs
  const answer = await Troupe.allowancesOf(troupe).give({ token: caller.name, request: asked, more, most, knownMs })
  if (answer.kind === 'ok') return
  const { what, given, roomMs } = answer
  const seconds = Math.max(1, Math.ceil(roomMs / 1_000))
  throw new ApiError(
    429,
    'allowance_exceeded',
    `token "${caller.name}" may give its sessions ${most[what]} ${words[what]} within an hour. It has given ${given}, and this would be ${more[what]} more: ask for less, or try again in ${seconds} s.`,
    { headers: { 'retry-after': String(seconds) } },
  )
}
