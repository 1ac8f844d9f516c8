/** What users prove with it: correct workers pass at every point, and each seeded fault is found at the point where it shows. */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { ConfigError } from 'troupe'
import { call, crashMatrix, type Progress, type RunPlace, type Scenario, say } from 'troupe/test'
import { describe, expect, inject, test } from 'vitest'
import { isAlive } from '../../src/dev/program.ts'
import { readJournal } from '../../src/testing/crash/journal.ts'
import { isLong } from '../support/fault/fault-settings.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import {
  expectSurvived,
  lines,
  messages,
  refusedScenarios,
  reportOf,
  scenario,
  shortly,
  startMatrix,
  sureLease,
} from './scenarios/payment-scenarios.ts'
import { entryFile } from './scenarios/payments.ts'

describe.concurrent('correct workers pass', () => {
  test('an agent with an idempotent tool passes, killed at every point', async () => {
    const told: Progress[] = []
    const lives = new Map<string | null, readonly number[]>()
    const report = await crashMatrix(
      scenario('payer', {
        ...sureLease,
        replies: { payer: [call('pay'), say('paid it')] },
        check: ({ folder, result, histories, runs, point }) => {
          expect(readdirSync(folder)).toHaveLength(1)
          expect(result).toMatchObject({ status: 'completed', value: { text: 'paid it', facts: { paid: 250 } } })
          expect(histories.map(({ kind }) => kind)).toEqual(['payer'])
          const pays = runs.filter(({ what, name }) => what === 'tool' && name === 'pay')
          lives.set(
            point,
            pays.map(({ life }) => life),
          )
          expect(new Set(pays.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
        },
        onProgress: (progress) => told.push(progress),
      }),
    )
    expect(report).toMatchObject({ violations: [], leftOut: 0 })
    expect(lives.get(null)).toEqual([1])
    expect(lives.get('after tool pay of payer #1')).toEqual([1, 2])
    expect(lives.get('after model of payer #2')).toEqual([1])
    const first = ['claim', 'gates of payer', 'model of payer', 'tool pay of payer', 'commit of payer']
    const calls = [...first.map((call) => `${call} #1`), 'model of payer #2']
    for (const call of calls) expect(report.points).toEqual(expect.arrayContaining([`before ${call}`, `after ${call}`]))
    expect(report.runs).toBeGreaterThan(report.points.length)
    expect(told[0]).toMatchObject({ done: 1, point: null })
    expect(told.at(-1)).toMatchObject({ done: told.length, total: told.length, violations: 0 })
  })

  test('an agent whose tool is a recipe passes, killed around its steps: no ended step runs again (RECIPE-CALLS-1) [2.17]', async () => {
    const report = await crashMatrix(
      scenario('settler', {
        replies: { settler: [call('settle'), say('settled')] },
        ...shortly('tool pay of settler #1', 'tool enter of settler #1', 'tool enter of settler #2'),
        check: ({ result, histories, runs, point }) => {
          expect(result).toMatchObject({ status: 'completed', value: { text: 'settled', facts: { paid: 250 } } })
          const entries = histories[0]?.entries ?? []
          expect(entries).toContainEqual(
            expect.objectContaining({ type: 'toolResult', output: { type: 'json', value: { entered: 3, errors: 0 } } }),
          )
          const keys = new Set(runs.flatMap(({ name, idempotencyKey }) => (name === 'enter' ? [idempotencyKey] : [])))
          expect(keys.size).toBe(2)
          for (const key of keys) {
            expect(readFileSync(entryFile(key), 'utf8')).toBe('entered\n')
            rmSync(entryFile(key))
          }
          const pays = runs.filter(({ what, name }) => what === 'tool' && name === 'pay')
          expect(pays.length).toBeLessThanOrEqual(point?.includes('enter') ? 1 : 2)
        },
      }),
    )
    expect(report).toMatchObject({ violations: [], missed: [], ...(isLong ? { leftOut: 0 } : {}) })
    expect(report.points).toEqual(
      expect.arrayContaining(['before tool enter of settler #2', 'after tool enter of settler #2']),
    )
  })

  test('an agent whose hooks answer differently each time passes, killed around their calls: each is recorded once, and its words hold (HOOKS-1) [1.61]', async () => {
    const report = await crashMatrix(
      scenario('guarded', {
        replies: { guarded: [call('note', {}, 'n'), say('noted')] },
        ...shortly('tool note of guarded #1', 'model of guarded #2'),
        check: ({ folder, result, histories }) => {
          expect(result).toMatchObject({ status: 'completed', value: { text: 'noted' } })
          const entries = histories[0]?.entries ?? []
          const hooks = entries.flatMap((entry) => (entry.type === 'hooked' ? [entry.hook] : []))
          expect(hooks).toEqual(['spawn', 'prompt', 'toolAfter'])
          const decided = entries.flatMap((entry) => (entry.type === 'callsDecided' ? entry.calls : []))
          expect(decided).toHaveLength(1)
          const [{ arguments: given } = {}] = decided as { arguments?: unknown }[]
          expect(new Set(lines(folder, 'notes'))).toEqual(new Set([JSON.stringify(given)]))
        },
      }),
    )
    expect(report).toMatchObject({ violations: [], missed: [], ...(isLong ? { leftOut: 0 } : {}) })
  })

  test('a handler that spawns, with an effect that its key guards, passes', async () => {
    const report = await crashMatrix(
      scenario('clerk', {
        pointsMax: isLong ? 200 : 5,
        check: ({ folder, result, histories }) => {
          expect(readdirSync(folder)).toHaveLength(1)
          expect(result).toMatchObject({ status: 'completed', value: { stamped: 500 } })
          expect(histories.map(({ kind }) => kind)).toEqual(['clerk', 'stamp'])
        },
      }),
    )
    expectSurvived(report, 5)
  })

  test('an agent with a task in the background passes, killed at every point: its end is reported once at most (BACKGROUND-2) [1.59]', async () => {
    const task = { kind: 'stamp', name: 'stamp', input: 2, detached: true }
    const report = await crashMatrix(
      scenario('starter', {
        pointsMax: isLong ? 200 : 6,
        replies: {
          starter: [call('spawn_workers', { tasks: [task] }), call('pay'), call('list_tasks'), say('done')],
        },
        check: ({ folder, result, histories }) => {
          expect(readdirSync(folder)).toHaveLength(1)
          expect(result).toMatchObject({ status: 'completed', value: { text: 'done' } })
          expect(histories.map(({ kind }) => kind)).toEqual(['starter', 'stamp'])
          const told =
            histories[0]?.entries.flatMap((entry) => (entry.type === 'user' ? (entry.ended ?? []) : [])) ?? []
          expect(new Set(told).size).toBe(told.length)
        },
      }),
    )
    expectSurvived(report, 5)
  })

  test('an agent whose old results are cleared passes, killed at every point: they are cleared once', async () => {
    const report = await crashMatrix(
      scenario('hoarder', {
        pointsMax: isLong ? 200 : 6,
        replies: { hoarder: [call('hoard'), call('hoard'), call('pay'), call('hoard'), say('done')] },
        check: ({ folder, result, histories }) => {
          expect(readdirSync(folder)).toHaveLength(1)
          expect(result).toMatchObject({ status: 'completed', value: { text: 'done' } })
          const cleared =
            histories[0]?.entries.flatMap((entry) => (entry.type === 'cleared' ? [entry.firstKept] : [])) ?? []
          expect(cleared.length).toBeGreaterThan(0)
          expect(new Set(cleared).size).toBe(cleared.length)
        },
      }),
    )
    expectSurvived(report, 5)
  })

  test('a handler whose children wait to start passes, killed at every point', async () => {
    const report = await crashMatrix(
      scenario('counter', {
        ...sureLease,
        pointsMax: isLong ? 200 : 5,
        check: ({ result, runs, point }) => {
          expect(result).toMatchObject({ status: 'completed', value: { stamped: [2, 4, 6] } })
          const stamps = runs.filter(({ name }) => name === 'stamp')
          // Only what was in hand when the node died is done again.
          expect(stamps.length).toBeLessThanOrEqual(point === null ? 3 : 4)
        },
      }),
    )
    expectSurvived(report, 5)
  })
})

test.concurrent('onCancel is called until its end is recorded, and then never again, wherever its node is killed', async () => {
  const lives = new Map<string | null, readonly number[]>()
  const points = [...(isLong ? ['commit of guest #2', 'claim #3'] : []), 'onCancel of stay #1', 'commit of stay #2']
  const report = await crashMatrix(
    scenario('guest', {
      ...sureLease,
      only: ['after commit of stay #1', ...points.flatMap((point) => [`before ${point}`, `after ${point}`])],
      check: ({ folder, histories, runs, point }) => {
        expect(readdirSync(folder)).toHaveLength(1)
        const last = runs.filter(({ what }) => what === 'onCancel')
        lives.set(
          point,
          last.map(({ life }) => life),
        )
        expect(new Set(last.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
        const stay = histories.find(({ kind }) => kind === 'stay')
        const ends = stay?.entries.filter(({ type }) => type === 'cancelled')
        expect(ends).toMatchObject([{ onCancel: { reason: 'the run that waited for it has ended' } }])
        expect(histories[0]?.entries.filter(({ type }) => type === 'completed')).toHaveLength(1)
      },
    }),
  )
  expect(report.violations).toEqual([])
  expect(lives.get(null)).toEqual([1])
  expect(lives.get('after onCancel of stay #1')).toEqual([1, 2])
  expect(lives.get('before commit of stay #2')).toEqual([1, 2])
  expect(lives.get('after commit of stay #2')).toEqual([1])
})

describe.concurrent('a run is over', () => {
  test('a crash run is over when a child at work behind the result has ended too', async () => {
    const point = 'after commit of sender #1'
    const check: Scenario['check'] = ({ folder }) => expect(readdirSync(folder)).toEqual(['letter'])
    expect(await crashMatrix(scenario('sender', { check, only: [point] }))).toMatchObject({ points: [point] })
  })

  test('a crash run is over at its time limit, and names what still waits', async () => {
    const { violations, runs } = await crashMatrix(scenario('waiter', { runMsMax: 2_000, violations: 'report' }))
    const what = expect.stringMatching(/^the session did not end within 2000 ms\nwaiter \S+ is \w+: a timer/)
    expect({ violations, runs }).toEqual({ violations: [{ point: 'no crash', what }], runs: 1 })
  })
})

test.concurrent('a crash point that no further run passes is tried three times, and reported as missed', async () => {
  let runs = 0
  const point = 'before receive of stamp #1'
  const report = await crashMatrix(scenario('moody', { input: () => runs++ === 0, only: [point] }))
  expect(report).toMatchObject({ points: [], missed: [point], runs: 4, violations: [] })
})

describe.concurrent('a worker that asks somebody outside', () => {
  test('a worker that asks somebody outside receives one answer, whatever step its node dies at', async () => {
    const report = await crashMatrix(
      scenario('asker', {
        ...shortly('commit of asker #1', 'receive of asker #2', 'commit of asker #3'),
        answers: ({ question }) => (question === 'Ship it?' ? 'yes' : 3),
        check: ({ result, histories }) => {
          expect(result).toMatchObject({ status: 'completed', value: ['yes', 3] })
          const types = histories.flatMap(({ entries }) => entries.map(({ type }) => type))
          expect(types).toEqual(['received', 'received', 'received', 'completed'])
        },
      }),
    )
    expect(report.violations).toEqual([])
    expect(report.points).toContain('after commit of asker #1')
  })

  test('a worker that asks somebody outside goes on without an answer when its ask expires, whatever step its node dies at', async () => {
    const check: Scenario['check'] = ({ result, histories }) => {
      expect(result).toMatchObject({ status: 'completed', value: { status: 'expired', value: 'nobody' } })
      expect(histories[0]?.entries.map(({ type }) => type)).toEqual(['received', 'received', 'completed'])
    }
    const points = shortly('commit of expecter #1', 'receive of expecter #2')
    expect((await crashMatrix(scenario('expecter', { check, ...points }))).violations).toEqual([])
  })

  test('an answer that does not fit ends the matrix', async () => {
    const wrong = crashMatrix(scenario('asker', { answers: () => 'perhaps' }))
    await expect(wrong).rejects.toThrow('must be one of: yes, no')
  })
})

describe.concurrent('a fault is found', () => {
  test('the matrix finds a tool that calls itself idempotent and counts twice under one key', async () => {
    const { report, message } = await reportOf(
      crashMatrix(
        scenario('careless-payer', {
          replies: { 'careless-payer': [call('pay_twice'), say('paid it')] },
          only: ['before tool pay_twice of careless-payer #1', 'after tool pay_twice of careless-payer #1'],
          check: ({ folder }) => {
            if (lines(folder, 'counter').length > 1) throw new Error('it was paid more than once')
          },
        }),
      ),
    )
    const point = 'after tool pay_twice of careless-payer #1'
    expect(report.violations).toEqual([{ point, what: 'check: it was paid more than once' }])
    expect(message).toBe(
      `The scenario does not survive a kill -9 at 1 of 2 points:\n  ${point}: check: it was paid more than once`,
    )
  })

  test('the matrix finds a handler with an effect that no key guards', async () => {
    const { report } = await reportOf(
      crashMatrix(
        scenario('careless-clerk', {
          only: ['after receive of careless-clerk #1'],
          check: ({ folder }) => expect(lines(folder, 'letters')).toEqual(['a letter']),
        }),
      ),
    )
    const what = expect.stringMatching(/^check: /)
    expect(report.violations).toEqual([{ point: 'after receive of careless-clerk #1', what }])
  })
})

describe.concurrent('a scenario that cannot be run', () => {
  test('a scenario that fails without a crash is not tried further', async () => {
    const { report, message } = await reportOf(
      crashMatrix(
        scenario('stamp', {
          check: () => {
            throw new Error('this is never right')
          },
        }),
      ),
    )
    expect(report).toMatchObject({ points: [], runs: 1 })
    expect(message).toBe('The scenario fails without a crash:\n  no crash: check: this is never right')
  })

  test('a scenario whose run fails is not tried further, unless a check says that it should fail', async () => {
    const { report, message } = await reportOf(
      crashMatrix(scenario('payer', { replies: { payer: [call('nothing')] } })),
    )
    expect(report).toMatchObject({ points: [], runs: 1 })
    expect(message).toMatch(/no crash: the run failed with [\s\S]*needs a check that says it/)
  })

  test('a scenario whose Redis does not answer says so', async () => {
    const running = crashMatrix(scenario('stamp', { redisUrl: 'redis://127.0.0.1:1' }))
    await expect(running).rejects.toThrow('Redis at redis://127.0.0.1:1 does not answer')
  })

  test.each([1, 4])('a scenario whose process gets a signal to end leaves nothing behind, in run %i', async (runs) => {
    const child = startMatrix()
    const ended = once(child, 'exit')
    const [place] = await Promise.all([once(child, 'message') as Promise<[RunPlace]>, messages(child, runs)])
    child.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
    const [{ id, folder }] = place
    const redis = new Redis(inject('redisUrl'))
    expect(await redis.keys(`{${id.slice(0, -1)}*`).finally(() => redis.disconnect())).toEqual([])
    expect(existsSync(dirname(folder))).toBe(false)
  })

  test('a scenario whose process is killed leaves no node behind', async () => {
    const child = startMatrix()
    const [{ id, folder }] = (await once(child, 'message')) as [RunPlace]
    const home = dirname(folder)
    const redis = new Redis(inject('redisUrl'))
    try {
      const line = await waitUntil('the node to be at work', () => readJournal(join(home, `${id}.ndjson`))[0])
      child.kill('SIGKILL')
      expect(await waitUntil('the node to be gone', () => !isAlive(line.pid))).toBe(true)
    } finally {
      child.kill('SIGKILL')
      const keys = await redis.keys(`{${id}.0}*`)
      if (keys.length > 0) await redis.unlink(keys)
      redis.disconnect()
      rmSync(home, { recursive: true, force: true, maxRetries: 20 })
    }
  })

  test('the output of a node that ended by itself is shown', async () => {
    const { message } = await reportOf(crashMatrix(scenario('quitter')))
    expect(message).toMatch(/a node ended by itself with 3[\s\S]*nobody can work like this/)
  })

  test.each(refusedScenarios)('is refused: %s', async (_what, more, sentence) => {
    const error: unknown = await crashMatrix(scenario('stamp', more)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toMatch(sentence)
  })

  test('an empty scenario is refused', async () => {
    await expect(crashMatrix(undefined as never)).rejects.toThrow('crashMatrix: it takes a scenario: { workers, kind')
  })
})

// Not beside the others: it looks at the processes that are left.
test('a fault is found in an agent that keeps a fact only in its process, without a check of its own', async () => {
  const point = 'before model of forgetful #3'
  const replies = { forgetful: [call('price'), call('recall'), say('done')] }
  await using redis = Object.assign(new Redis(inject('redisUrl')), {
    async [Symbol.asyncDispose](this: Redis) {
      this.disconnect()
    },
  })
  let place = { id: '', folder: '' }
  const check: Scenario['check'] = async (outcome) => {
    place = outcome
    expect(await redis.keys(`{${place.id}.0}*`)).not.toEqual([])
  }
  const { violations } = await crashMatrix(
    scenario('forgetful', { replies, check, only: [point], violations: 'report' }),
  )
  expect(violations).toEqual([
    {
      point,
      what:
        'the result is {"status":"completed","value":{"text":"done","facts":{"price":null}}}, ' +
        'and without a crash it is {"status":"completed","value":{"text":"done","facts":{"price":250}}}',
    },
  ])
  // Nothing is left of it: no process, no key, no folder.
  expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap')
  expect(await redis.keys(`{${place.id}.0}*`)).toEqual([])
  expect(existsSync(dirname(place.folder))).toBe(false)
})
