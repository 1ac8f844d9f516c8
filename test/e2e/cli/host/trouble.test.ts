/** The command line while Redis is away, refuses commands, or is frozen. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { CliProject } from '../../../cli/cli-project.ts'
import { RedisServer } from '../../../support/redis/redis-server.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const cli = new CliProject('trouble', { withNode: false })

describe.concurrent('without Redis', () => {
  // Nothing on this machine ever listens at port 1; any port that is free now may be used a moment later.
  const url = 'redis://127.0.0.1:1'

  it.each([
    [['session', 'list']],
    [['run', 'echo', 'x']],
    [['submit', 'echo', 'x']],
    [['doctor']],
    [['audit']],
    [['node']],
    [['demo', 'workers']],
    [['kinds', '--workers', '']],
  ])('%j exits with 69 and one sentence', async (args) => {
    const cwd = args[0] === 'kinds' ? join(cli.project.folder, 'workers') : cli.project.folder
    const wanted = args[0] === 'kinds' ? ['kinds'] : args
    const { code, stdout, stderr } = await cli.project.run([...wanted, '--json', '--redis-url', url], { cwd })
    expect(code).toBe(69)
    expect(stderr).toMatch(
      /^(Using .*\n)?troupe: Redis at redis:\/\/127\.0\.0\.1:\d+ does not answer .*ECONNREFUSED.*\n$/,
    )
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'store_unavailable' })
  })

  it('doctor names the sentinels and their master, but no password', async () => {
    const at = 'redis+sentinel://user:hush@127.0.0.1:1,127.0.0.1:2/mymaster'
    const { code, stdout, stderr } = await cli.project.ask(['doctor', '--redis-url', at])
    expect(code).toBe(69)
    expect(stdout).toMatch(/^Redis at mymaster of the sentinels 127\.0\.0\.1:1, 127\.0\.0\.1:2, namespace /)
    expect(stderr).toMatch(/^troupe: no sentinel of redis\+sentinel:\S+ answers .*\n$/)
    expect(stdout + stderr).not.toContain('hush')
  })

  it('kinds lists the local worker files', async () => {
    const { code, stdout, stderr } = await cli.project.ask(['kinds', '--redis-url', url])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^echo +0 +handler/m)
    expect(stderr).toContain('only the local worker files are listed')
  })
})

describe.concurrent('a Redis that refuses', () => {
  it('a Redis that refuses writes gives exit code 69', async () => {
    await using redis = await RedisServer.start({ durability: 'none', settings: ['min-replicas-to-write 1'] })
    const { code, objects, stderr } = await cli.project.ask(['submit', 'echo', 'x', '--json', '--redis-url', redis.url])
    expect(stderr).toMatch(/^troupe: .*NOREPLICAS.*\n$/)
    expect({ code, error: objects[0]?.code }).toEqual({ code: 69, error: 'store_refused' })
  })

  it('a Redis that refuses writes because it cannot save still answers reads, and doctor names the cause', async () => {
    await using redis = await RedisServer.start({
      durability: 'none',
      settings: ['save 3600 1', 'dbfilename here.rdb'],
    })
    const at = ['--json', '--redis-url', redis.url]
    await cli.project.ask(['submit', 'echo', 'x', ...at])
    await cli.project.ask(['pause', '--all', ...at])
    await mkdir(join(redis.folder, 'here.rdb'))
    const admin = new Redis(redis.url)
    await admin.bgsave()
    await waitUntil('the snapshot failed', async () => (await admin.info()).includes('rdb_last_bgsave_status:err'))
    admin.disconnect()
    const [submit, resume, list, doctor] = await Promise.all([
      cli.project.ask(['submit', 'echo', 'x', ...at]),
      cli.project.ask(['resume', '--all', ...at]),
      cli.project.ask(['session', 'list', ...at]),
      cli.project.ask(['doctor', ...at]),
    ])
    expect(submit.stderr).toMatch(
      /^troupe: Redis takes no writes now; refused calls are made again until it does\ntroupe: Redis refused .*MISCONF.* cannot save to disk: free some space.*\n$/,
    )
    expect(resume.objects[0]?.message).toMatch(/^Redis refused \(resuming all sessions: MISCONF /)
    expect({ code: submit.code, error: submit.objects[0]?.code }).toEqual({ code: 69, error: 'store_refused' })
    expect(list).toMatchObject({ code: 0, objects: [{ kind: 'echo', state: 'active' }] })
    for (const what of ['could not write the last snapshot', 'refuses writes (MISCONF'])
      expect(doctor.objects).toContainEqual(
        expect.objectContaining({ level: 'problem', what: expect.stringContaining(what) }),
      )
  })

  it('a Redis that refuses writes because it is full is the only cause that doctor reports', async () => {
    await using redis = await RedisServer.start()
    const at = ['--json', '--redis-url', redis.url]
    await cli.project.ask(['submit', 'echo', 'x', ...at])
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory', '1')
    const { code, objects } = await cli.project.ask(['doctor', ...at])
    admin.disconnect()
    const [health, ...findings] = objects
    expect({ code, health }).toMatchObject({
      code: 1,
      health: { redis: { refusal: { why: expect.stringMatching(/^OOM/) } } },
    })
    const problems = findings.filter(({ level }) => level === 'problem').map(({ what }) => what)
    expect(problems).toEqual([
      expect.stringMatching(/^Redis refuses writes \(OOM .*\)$/),
      expect.stringMatching(/of memory \(\d+ %\)/),
    ])
  })

  it('a Redis that refuses to promise its keys is a wrong set-up, and a finding of doctor', async () => {
    await using redis = await RedisServer.start({
      durability: 'none',
      settings: ['maxmemory 50mb', 'maxmemory-policy allkeys-lru'],
    })
    const [list, doctor, said] = await Promise.all([
      cli.project.ask(['session', 'list', '--redis-url', redis.url]),
      cli.project.ask(['doctor', '--json', '--redis-url', redis.url]),
      cli.project.ask(['doctor', '--redis-url', redis.url]),
    ])
    expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining('noeviction') })
    expect(doctor).toMatchObject({ code: 1, objects: [{ type: 'finding', level: 'problem' }] })
    // An audit would be refused as well.
    expect(said).toMatchObject({ code: 1, stderr: expect.not.stringContaining('troupe audit') })
  })
})

describe.concurrent('a Redis user who may only look', () => {
  it('doctor shows a user who may only look what it finds, beside the rights that are missing', async () => {
    await using redis = await RedisServer.start()
    await cli.project.ask(['submit', 'echo', 'x', '--redis-url', redis.url])
    const admin = new Redis(redis.url)
    const rights = '~* resetchannels &* +@read +@connection +@transaction -@dangerous +info +time +eval +evalsha'
    await admin.acl('SETUSER', 'viewer', 'on', '>secret', ...rights.split(' '))
    admin.disconnect()
    const { href } = Object.assign(new URL(redis.url), { username: 'viewer', password: 'secret' })
    const { code, objects } = await cli.project.ask(['doctor', '--json', '--redis-url', href])
    expect({ code, health: objects[0] }).toMatchObject({ code: 1, health: { type: 'health' } })
    const problems = objects.filter(({ level }) => level === 'problem').map(({ what }) => what)
    expect(problems).toEqual([
      expect.stringMatching(/^the Redis user may not call SET, /),
      'no node is live, and 1 worker waits',
    ])
  })
})

describe.concurrent('a key of the namespace that another program overwrote', () => {
  it('an overwritten key of the namespace is a finding of doctor', async () => {
    const at = ['--json', '--namespace', `${cli.namespace}-spoilt`]
    await cli.project.ask(['submit', 'echo', 'x', ...at])
    const admin = new Redis(inject('redisUrl'))
    const key = `{${cli.namespace}-spoilt.0}:timers`
    await admin.set(key, 'not a zset')
    const { code, stderr, objects } = await cli.project.ask(['doctor', ...at])
    await admin.del(key)
    admin.disconnect()
    const what = `key ${key} should be a zset: another program overwrote it`
    const finding = {
      type: 'finding',
      level: 'problem',
      what,
      todo: expect.stringMatching(/remove it, and then cancel .* that troupe audit names/),
    }
    expect({ code, stderr, objects }).toEqual({ code: 1, stderr: '', objects: [finding] })
  })
})

describe.concurrent('an accepted message', () => {
  it('an accepted message is reported as accepted, even if nobody knows whether a node takes it', async () => {
    const namespace = `${cli.namespace}-kinds`
    const at = ['--json', '--namespace', namespace]
    const submitted = await cli.project.ask(['submit', 'echo', 'x', '--keep-open', ...at])
    const workerId = String(submitted.objects[0]?.workerId)
    const admin = new Redis(inject('redisUrl'))
    await admin.set(`{${namespace}.0}:kinds`, 'not a hash')
    admin.disconnect()
    const sent = await cli.project.ask(['send', workerId, 'y', ...at])
    const warning = expect.stringMatching(/message was accepted, but .*not known whether.*:kinds should be a hash/)
    expect(sent).toMatchObject({ code: 0, objects: [{ type: 'sent', workerId, position: 1, warning }] })
  })
})

describe.concurrent('the end of a damaged session', () => {
  it.each([
    ['close', 'closeRequested', 'has ended, or ends once its waiting messages are answered'],
    ['cancel', 'cancelRequested', 'is cancelling'],
  ])('the end of a damaged session is requested by %s, which says so', async (verb, type, what) => {
    const namespace = `${cli.namespace}-${verb}`
    const at = ['--namespace', namespace]
    const submitted = await cli.project.ask(['submit', 'echo', 'x', '--keep-open', '--json', ...at])
    const { sessionId, workerId } = submitted.objects[0] ?? {}
    const admin = new Redis(inject('redisUrl'))
    await admin.hset(`{${namespace}.0}:w:${String(workerId)}`, 'attempt', 'nonsense')
    admin.disconnect()
    const asked = await cli.project.ask(['session', verb, String(sessionId), '--json', ...at])
    expect(asked).toMatchObject({ code: 0, objects: [{ type, sessionId, state: 'damaged' }] })
    const { stdout } = await cli.project.ask(['session', verb, String(sessionId), ...at])
    const note = 'it is damaged: troupe session show names the data that another program overwrote'
    expect(stdout).toBe(`session ${String(sessionId)} ${what}; ${note}\n`)
  })
})

describe.concurrent('a Redis that goes away during a run', () => {
  it('a Redis that goes away during a run ends the command with 69, and the command says how to get the result later', async () => {
    await using redis = await RedisServer.start({ durability: 'none' })
    const running = cli.project.start(['run', 'waits', '--redis-url', redis.url])
    await running.saw('started')
    redis.freeze()
    const { code, stderr } = await running.ended
    expect(code).toBe(69)
    expect(stderr).toMatch(
      /the session is not lost\. Get its result later with: troupe session result [0-9a-f-]{36} --wait/,
    )
  })
})

describe.concurrent('a Redis that goes away while a session is followed', () => {
  it('a Redis that goes away while a session is followed ends the command with 69, and the command says how to follow the session again', async () => {
    await using redis = await RedisServer.start({ durability: 'none' })
    const at = ['--redis-url', redis.url]
    const { objects } = await cli.project.ask(['submit', 'waits', ...at, '--json'])
    const sessionId = String(objects[0]?.sessionId)
    const following = cli.project.start(['session', 'follow', sessionId, ...at, '--json'])
    await following.saw('session.created', 'stdout')
    redis.freeze()
    const { code, stderr } = await following.ended
    expect(code).toBe(69)
    expect(stderr).toContain(
      `session ${sessionId} is not lost. Follow it again with: troupe session follow ${sessionId}`,
    )
  })
})

describe.concurrent('a second Ctrl+C', () => {
  it('a second Ctrl+C ends the command at once, whatever it waits for', async () => {
    await using redis = await RedisServer.start({ durability: 'none' })
    const running = cli.project.start(['run', 'waits', '--redis-url', redis.url])
    await running.saw('started')
    redis.freeze()
    running.kill('SIGINT')
    await running.saw('interrupted')
    // The same key press can arrive twice, and only a signal a little later is a second one.
    await waitUntil('the end of the command', () => {
      running.kill('SIGINT')
      return running.child.exitCode !== null
    })
    expect(await running.ended).toMatchObject({ code: 130 })
  })
})
