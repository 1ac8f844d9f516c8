/**
 * An agent, the real adapter, and a provider over HTTP that answers request by request as a test says; afterwards the worker must be
 * idle, its record paired, and its next input answered.
 */
import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import type { AgentWorker } from '../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import type { Entry, RunResult } from '../../../src/core/history/entry.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { type RawProvider, rawProvider } from '../../models/support/raw-provider.ts'
import { TestTroupe } from '../test-troupe.ts'
import { awaitResult } from '../time/await-session.ts'
import { waitUntil } from '../time/wait-until.ts'
import { type FakeSurface, type Said, type Shown, sendEvents } from './fake-surfaces.ts'

/** What the provider does with a request: says something, or treats the response itself. */
export type Act = Said | ((response: ServerResponse, surface: FakeSurface) => void)

const again = 'And once more?'
const quick = { retryBackoffMs: 1, retryBackoffMsMax: 2 }

export interface Ran {
  readonly result: RunResult
  readonly history: readonly Entry[]
  /** The parts of the conversation that each request of the first run showed. */
  readonly preview: readonly Shown[]
  readonly session: Session
}

export interface FaultyRun {
  readonly surface: FakeSurface
  /** In order of the requests; the last one for all that follow. A function decides by what the request shows. */
  readonly acts: readonly Act[] | ((preview: Shown, number: number) => Act)
  readonly worker?: Partial<AgentWorker>
  readonly others?: Readonly<Record<string, AgentWorker>>
  /** While the first run is under way. */
  readonly meanwhile?: (session: Session) => Promise<void>
}

export async function runFaulty({ surface, acts, worker, others = {}, meanwhile }: FaultyRun): Promise<Ran> {
  let number = 0
  const preview: Shown[] = []
  await using provider = await rawProvider((response, body) => {
    const seen = surface.preview(body)
    if (seen.lastUser.endsWith(again)) return sendEvents(response, surface.events({ text: 'Here again.' }))
    preview.push(seen)
    number++
    const act = typeof acts === 'function' ? acts(seen, number) : (acts[Math.min(number, acts.length) - 1] as Act)
    if (typeof act === 'function') act(response, surface)
    else sendEvents(response, surface.events(act))
  })
  const model = modelAt(surface, provider)
  const kinds = Object.entries({ ...others, agent: { instructions: 'Work.', ...worker } })
  await using troupe = await TestTroupe.start({
    workers: Object.fromEntries(kinds.map(([name, agent]) => [name, defineWorker({ model, ...agent })])),
    policy: quick,
  })
  const session = await troupe.create('agent', 'go', { keepOpen: true })
  await meanwhile?.(session)
  const result = await awaitResult(session, { run: 1 })
  const history = await troupe.history(session.rootId)
  expectPaired(history)
  await expectAnswer(session)
  return { result, history, preview: [...preview], session }
}

function modelAt(surface: FakeSurface, provider: RawProvider) {
  const env = {
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: provider.url,
  }
  return openModels({ env }).open(surface.model)
}

/** Each call has one result, and no id is given twice. */
function expectPaired(history: readonly Entry[]): void {
  const calls = history.flatMap((entry) => (entry.type === 'assistant' ? toolCallsOf(entry) : []))
  const ids = calls.map(({ toolCallId }) => toolCallId)
  expect(new Set(ids).size).toBe(ids.length)
  const results = history.flatMap((entry) => (entry.type === 'toolResult' ? [entry.toolCallId] : []))
  expect(results.toSorted()).toEqual(ids.toSorted())
}

async function expectAnswer(session: Session): Promise<void> {
  await waitUntil('the worker is idle', async () => {
    const [root] = (await session.report()).workers
    return root !== undefined && root.lifecycle !== 'busy'
  })
  await session.root.send(again)
  const result = await awaitResult(session, { run: 2 })
  expect(result).toMatchObject({ status: 'completed', value: { text: 'Here again.' } })
}
