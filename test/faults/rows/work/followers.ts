/** F48: followers over HTTP die at any byte while what they follow is busy, and resume behind the last event that they have, at one of two servers. */
import assert from 'node:assert/strict'
import { type Api, startApi } from '../../../../src/api/api.ts'
import type { Session } from '../../../../src/client/session/session.ts'
import type { Random } from '../../../support/fault/fault-settings.ts'
import { type Cut, CutFollower, type StoredEvent } from '../../../support/fault/follower/cut-follower.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import type { Row, Stage } from '../../row.ts'

const tree = { children: 3, steps: 1, stepMs: 1 }
/** At most this many messages of a session wait. */
const ahead = 10

export const followerRow: Row = {
  id: 'F48',
  promise: 'a follower over HTTP that dies and resumes with Last-Event-ID gets each stored event once, in order',
  done: 'followers of two busy sessions and of all of them, cut off at a random byte or moment, resumed at one of two servers; a trial is a cut',
  trials: ({ isLong }) => [{ name: 'followers', run: (stage) => cutAndResume(stage, isLong ? 1_000 : 40) }],
}

async function cutAndResume(stage: Stage, cuts: number): Promise<number> {
  await using harness = await stage.open()
  await harness.start('a')
  const { redisUrl, namespace, client } = harness
  const options = { redisUrl, namespace, port: 0, page: false as const, rate: 1_000_000 }
  await using one = await startApi(options)
  await using other = await startApi(options)
  const servers = [one, other]
  const limits = { workers: 100_000 }
  const begin = (kind: string, input: unknown) => client.sessions.create({ kind, input, keepOpen: true, limits })
  const echo = await begin('echo', 0)
  const family = await begin('tree', tree)
  const over = new AbortController()
  const busy = Promise.all([keepBusy(echo, 'again', over.signal), keepBusy(family, tree, over.signal)])
  const paths = [`/v1/sessions/${echo.id}/events`, `/v1/sessions/${family.id}/events`, '/v1/events']
  const followers = paths.map((path) => new CutFollower(path))
  let done = 0
  const cutAll = Promise.all(
    followers.map(async (follower) => {
      while (done < cuts && !over.signal.aborted) {
        if (++done % 100 === 0) stage.say(`${done} cuts`)
        await follower.follow(oneOf(servers, stage.random), cutOf(stage.random))
      }
    }),
  )
  try {
    // Whichever fails ends the other.
    await Promise.race([cutAll, busy])
    await cutAll
  } finally {
    over.abort()
  }
  await busy
  await echo.close()
  await family.close()
  const [first, second, third] = followers as [CutFollower, CutFollower, CutFollower]
  // Their streams end with their sessions.
  await Promise.all([first.follow(one.url), second.follow(other.url)])
  const [ofEcho, ofFamily] = [await eventsOf(echo), await eventsOf(family)]
  const all = ofEcho.length + ofFamily.length
  stage.say(`${all} stored events`)
  // The stream of all has no end of its own: what has not come by then is missing.
  await third.follow(
    one.url,
    { chars: Number.POSITIVE_INFINITY, ms: 60_000, isReset: false },
    () => third.stored.length >= all,
  )
  assertSame(first.stored, ofEcho)
  assertSame(second.stored, ofFamily)
  for (const [session, events] of [
    [echo, ofEcho],
    [family, ofFamily],
  ] as const)
    assertSame(
      third.stored.filter(({ sessionId }) => sessionId === session.id),
      events,
    )
  await expectInvariants(harness.redis, harness.namespace)
  return done
}

async function keepBusy(session: Session, input: unknown, over: AbortSignal): Promise<void> {
  for (let run = 1; !over.aborted; run += ahead) {
    await awaitResult(session, { run })
    for (let number = 0; number < ahead; number++) await session.root.send(input)
  }
}

function oneOf(servers: readonly Api[], random: Random): string {
  return (servers[Math.floor(random() * servers.length)] as Api).url
}

function cutOf(random: Random): Cut {
  return { chars: Math.ceil(random() * 20_000), ms: Math.ceil(random() * 100), isReset: random() < 0.5 }
}

async function eventsOf(session: Session): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const { sessionId, id, type } of session.events({ after: '0-0', follow: false, transient: false }))
    events.push({ sessionId, id, type })
  return events
}

/** Says where they part: thousands of events are too many to read. */
function assertSame(got: readonly StoredEvent[], all: readonly StoredEvent[]): void {
  const wrong = all.findIndex((event, index) => event.id !== got[index]?.id)
  assert.equal(
    wrong,
    -1,
    `at event ${wrong} of ${all.length}: ${JSON.stringify(got[wrong])} in place of ${JSON.stringify(all[wrong])}`,
  )
  assert.equal(got.length, all.length, 'more came than there is')
}
