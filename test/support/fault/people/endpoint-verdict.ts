/** What holds for endpoints at rest: each was told of all that it listens for and of nothing else, as the same message, signed; and of nothing while it was off. */
import type { Session } from '../../../../src/client/session/session.ts'
import { waitUntil } from '../../time/wait-until.ts'
import type { Harness } from '../harness.ts'
import { unlessPruned } from '../unless-pruned.ts'
import { isSigned, type Request } from './endpoint-receiver.ts'
import type { KnownEndpoint, PeopleEndpoints } from './people-endpoints.ts'

type SessionSummary = Awaited<ReturnType<Session['summary']>>

/** A node that died gave back what it sent within half a minute. */
const toldMsMax = 90_000

interface Notice {
  readonly type: string
  readonly data: { readonly sessionId?: string; readonly letterId?: string; readonly kind?: string }
}

/** What an endpoint may be told of. */
interface Happened {
  readonly type: string
  readonly at: number
  readonly kind: string
  readonly isIn: (data: Notice['data']) => boolean
  readonly what: string
}

export async function endpointFaults(
  harness: Harness,
  endpoints: PeopleEndpoints,
  sessions: readonly string[],
): Promise<string[]> {
  const { requests } = endpoints.receiver
  const known = (await Promise.all(sessions.map((id) => summaryOf(harness, id)))).filter((one) => one !== null)
  const happened = [...known.flatMap(endOf), ...(await lettersOf(harness, known))]
  const missing = () => endpoints.all.flatMap((endpoint) => untold(endpoint, happened, requests))
  const isTold = async () => {
    await sendNow(harness)
    return missing().length === 0
  }
  await waitUntil('endpoints are told of everything', isTold, toldMsMax).catch(() => {})
  const dry = new Set(known.filter(({ forkedFrom }) => forkedFrom?.dryRun).map(({ id }) => id))
  const ofEach = endpoints.all.flatMap((endpoint) => requestFaults(endpoint, requests, dry))
  return [...missing(), ...ofEach]
}

function summaryOf({ client }: Harness, id: string): Promise<SessionSummary | null> {
  return unlessPruned(client.sessions.get(id).summary())
}

/** A node with a wrong clock puts the next attempt of a request into the wrong minute. */
async function sendNow({ client }: Harness): Promise<void> {
  for (const { id } of await client.webhooks.deliveries({ state: 'retrying', limit: 200 }))
    await client.webhooks.redeliver(id).catch(() => {})
}

/** A copy of a session that had ended has not ended itself. */
function endOf({ id, kind, state, finishedAt, forkedFrom }: SessionSummary): Happened[] {
  if (finishedAt === null || forkedFrom?.dryRun || finishedAt <= (forkedFrom?.at ?? 0)) return []
  const isIn = ({ sessionId }: Notice['data']) => sessionId === id
  return [{ type: `session.${state}`, at: finishedAt, kind, isIn, what: `session ${id} is ${state}` }]
}

async function lettersOf({ client }: Harness, known: readonly SessionSummary[]): Promise<Happened[]> {
  const letters = await client.deadLetters({ limit: 1_000 })
  return letters.flatMap(({ id, sessionId }) => {
    const session = known.find((one) => one.id === sessionId)
    const at = Number(id.split(/[.-]/).find((part) => part.length === 13))
    if (session === undefined || session.forkedFrom !== null) return []
    const isIn = ({ letterId }: Notice['data']) => letterId === id
    return [{ type: 'message.deadLettered', at, kind: session.kind, isIn, what: `letter ${id} is dead` }]
  })
}

function untold(endpoint: KnownEndpoint, happened: readonly Happened[], requests: readonly Request[]): string[] {
  const { id, path, types, kinds, toldSince } = endpoint
  if (toldSince === null) return []
  const told = Map.groupBy(
    requests.filter((one) => one.path === path && one.isAccepted).map(({ body }) => JSON.parse(body) as Notice),
    ({ type }) => type,
  )
  return happened
    .filter(
      ({ type, kind, at }) => at > toldSince && types.some((one) => one === type) && (kinds?.includes(kind) ?? true),
    )
    .filter(({ type, isIn }) => !told.get(type)?.some(({ data }) => isIn(data)))
    .map(({ what, at }) => `endpoint ${id}, told since ${toldSince}, was not told at ${at} that ${what}`)
}

/** What an endpoint gets that asks for ids alone. */
const idsOnly: ReadonlySet<string> = new Set(
  'webhookId sessionId workerId askId letterId path name kind run ask'.split(' '),
)

/** `dry`: the sessions that are dry runs. */
export function requestFaults(endpoint: KnownEndpoint, all: readonly Request[], dry: ReadonlySet<string>): string[] {
  const { id, path, types, kinds, include, secrets, quiet } = endpoint
  const faults: string[] = []
  const requests = all.filter((one) => one.path === path)
  for (const request of requests) {
    const { type, data } = JSON.parse(request.body) as Notice
    const say = (what: string) => faults.push(`endpoint ${id} was told of ${type} of session ${data.sessionId} ${what}`)
    if (!secrets.some((secret) => isSigned(request, secret))) say('without a valid signature')
    if (type !== 'webhook.test' && !types.some((one) => one === type)) say('and did not ask for it')
    if (data.kind !== undefined && !(kinds?.includes(data.kind) ?? true)) say(`and did not ask for kind ${data.kind}`)
    const more = include === 'ids' ? Object.keys(data).filter((name) => !idsOnly.has(name)) : []
    if (more.length > 0) say(`and did not ask for ${more.join(', ')}`)
    if (dry.has(data.sessionId ?? '')) say('which is a dry run')
    if (quiet.some(({ from, to }) => from < request.at && request.at < to)) say('while it was off')
  }
  const idOf = ({ headers }: Request) => String(headers['webhook-id'])
  for (const [message, same] of Map.groupBy(requests, idOf))
    if (new Set(same.map(({ body }) => body)).size > 1)
      faults.push(`endpoint ${id} got message ${message} with two texts`)
  return faults
}
