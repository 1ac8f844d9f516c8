/** A conversation with an agent whose provider answers over HTTP as a test says: its results, and what each request held. */
import type { ServerResponse } from 'node:http'
import type { AgentWorker } from '../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Entry, RunResult } from '../../../src/core/history/entry.ts'
import type { UsageReport } from '../../../src/core/worker/run/usage.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { rawProvider } from '../../models/support/raw-provider.ts'
import { TestTroupe } from '../test-troupe.ts'
import { awaitResult } from '../time/await-session.ts'
import { type FakeSurface, type Said, sendEvents } from './fake-surfaces.ts'

export interface ProviderTalk {
  readonly surface: FakeSurface
  /** The answer to a request, which it may judge by its body. */
  readonly answer: (body: string, number: number) => Said | ((response: ServerResponse) => void)
  readonly inputs: readonly unknown[]
  /** The model of each run; default: that of the surface. A node with the new model takes over. */
  readonly models?: readonly string[]
  readonly worker?: Partial<AgentWorker>
  readonly limits?: Readonly<Record<string, number>>
}

export interface Talked {
  readonly results: readonly RunResult[]
  readonly bodies: readonly string[]
  readonly history: readonly Entry[]
  readonly usage: UsageReport
}

/** Sends the inputs one after another, each when the run before has ended. */
export async function talkToProvider({
  surface,
  answer,
  inputs,
  models = [],
  worker,
  limits,
}: ProviderTalk): Promise<Talked> {
  const bodies: string[] = []
  await using provider = await rawProvider((response, body) => {
    bodies.push(body)
    const said = answer(body, bodies.length)
    if (typeof said === 'function') said(response)
    else sendEvents(response, surface.events(said))
  })
  const env = {
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: provider.url,
  }
  const workersOf = (name = surface.model) => {
    const model = openModels({ env }).open(name)
    return { agent: defineWorker({ instructions: 'Work.', model, ...worker }) }
  }
  const policy = { modelBackoffMs: 1, retryBackoffMs: 1, retryBackoffMsMax: 2 }
  await using troupe = await TestTroupe.start({ workers: workersOf(models[0]), policy })
  const [first, ...rest] = inputs
  const session = await troupe.create('agent', first, { keepOpen: true, ...(limits && { limits }) })
  const results = [await awaitResult(session, { run: 1 })]
  for (const [index, input] of rest.entries()) {
    const next = models[index + 1]
    if (next !== undefined && next !== models[index]) {
      await troupe.nodes.at(-1)?.stop()
      await troupe.startNode(workersOf(next), { policy })
    }
    await session.root.send(input)
    results.push(await awaitResult(session, { run: index + 2 }))
  }
  const { session: summary } = await session.report()
  return { results, bodies, history: await troupe.history(session.rootId), usage: { ...summary.usage } }
}

/** An answer with a status and an error as providers send it. */
export function refusing(status: number, error: object): (response: ServerResponse) => void {
  return (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ type: 'error', error }))
}
