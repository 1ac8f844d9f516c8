/** The demo, with a configured Redis and with a Redis that it starts itself. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, it } from 'vitest'
import { runProgram } from '../../../../src/dev/program.ts'
import { CliProject, workers } from '../../../cli/cli-project.ts'
import { TcpProxy } from '../../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const ownRedis = { TROUPE_REDIS_URL: '' }
const main = fileURLToPath(new URL('../../../../src/cli/main.ts', import.meta.url))
const cli = new CliProject('demo', { withNode: false })

describe.concurrent('troupe demo', () => {
  it('prints the report', async () => {
    const { code, stdout, stderr } = await cli.project.run(['demo', 'workers'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^# /)
    expect(stderr).toContain('Using the Redis at')
    expect(stderr).toContain('The model is offline/rules: fixed rules, no language model.')
    expect(stderr).not.toContain('\u001b')
  })

  it('troupe demo prints events and the totals with --json, and writes the report to a file', async () => {
    const { code, objects } = await cli.project.run(['demo', 'workers', '--json', '--out', 'report.md'])
    expect(code).toBe(0)
    expect(objects[0]).toMatchObject({ type: 'session.created' })
    expect(objects.at(-1)).toMatchObject({ type: 'report', files: Object.keys(workers).length, unreadable: 0 })
    expect(await readFile(join(cli.project.folder, 'report.md'), 'utf8')).toMatch(/^# /)
  })

  it('troupe demo exits with 2 before the survey if the report cannot be written', async () => {
    const { code, stdout, stderr } = await cli.project.run(['demo', 'workers', '--out', 'none/report.md'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^troupe: the report cannot be written: ENOENT.*none.*\n$/)
  })

  it.each([
    [['demo', 'workers', '--out', ''], 'the report cannot be written: --out is an empty text; name a file.'],
    [['demo', 'workers', '--out', 'reports/'], 'the report cannot be written: reports/ is a folder.'],
    [['demo', ''], 'the folder is an empty text: name a folder, or leave it out for the current one.'],
  ])('troupe demo exits with 2 before the survey: %j', async (args, message) => {
    const ended = await cli.project.run(args)
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: `troupe: ${message}\n` })
  })

  it('troupe demo prints a report that it cannot write at the end, and says where the report is kept', async () => {
    const folder = dirname(await cli.project.write('passing/none.txt', ''))
    // The proxy keeps the survey from ending before the folder is gone.
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    proxy.holdNew()
    const out = join(folder, 'report.md')
    const running = cli.project.start(['demo', 'workers', '--out', out, '--redis-url', proxy.url])
    await running.saw('Using the Redis')
    await rm(folder, { recursive: true })
    proxy.mend()
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/^# /) })
    expect(stderr).toMatch(/troupe: the report cannot be written: ENOENT.* It is on stdout instead\. It is also value/)
    const command = /`troupe (session result [0-9a-f-]{36} --json)`/.exec(stderr)?.[1] as string
    const { objects } = await cli.project.run(command.split(' '))
    expect(objects[0]).toMatchObject({ value: { facts: { report: { markdown: stdout } } } })
  })

  it('troupe demo exits with 2 for a folder that does not exist', async () => {
    expect(await cli.project.run(['demo', 'nowhere'])).toMatchObject({
      code: 2,
      stderr: 'troupe: there is no folder nowhere.\n',
    })
    expect(await cli.project.run(['demo', 'workers/echo.ts'])).toMatchObject({ code: 2 })
  })

  it('troupe demo distinguishes a folder that cannot be opened from one that does not exist', async () => {
    await symlink('loop', join(cli.project.folder, 'loop'))
    expect(await cli.project.run(['demo', 'loop'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^troupe: the folder loop cannot be opened: ELOOP.*\n$/),
    })
  })

  it.each([
    ['is a file', async (own: string) => writeFile(own, '')],
    ['leads nowhere', async (own: string) => symlink('/nowhere/at/all', own)],
    [
      'holds damaged data',
      async (own: string) => {
        await mkdir(join(own, 'redis', 'appendonlydir'), { recursive: true })
        await writeFile(join(own, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'damaged\n')
        // Redis 6.2 has only one file.
        await writeFile(join(own, 'redis', 'appendonly.aof'), 'damaged\n')
      },
    ],
  ])('troupe demo uses a throw-away Redis where .troupe %s', async (_, spoil) => {
    const folder = dirname(await cli.project.write(`spoiled-${randomUUID()}/f.txt`, 'one\n'))
    await spoil(join(folder, '.troupe'))
    const { code, objects, stderr } = await cli.project.run(['demo', '--json'], { cwd: folder, env: ownRedis })
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(', thrown away afterwards.\n') })
    expect(stderr).toMatch(/Its Redis is thrown away now, and the session with it\. Next: .*\n$/)
    expect(stderr).toMatch(/^troupe: no Redis can keep its data in \.troupe\/redis: .+\n/)
    expect(objects.at(-1)).toMatchObject({ type: 'report', unreadable: 0 })
  })

  it('troupe demo shows the log of a server that does not start, line by line', async () => {
    const version = '[ "$1" = --version ] && echo "Redis server v=7.0.0" && exit'
    const server = await cli.project.write(
      'broken/redis-server',
      `#!/bin/sh\n${version}\necho one; printf 'a\\033b'; exit 1\n`,
    )
    await chmod(server, 0o755)
    const env = { ...ownRedis, PATH: `${dirname(server)}:${process.env.PATH}` }
    // In a folder of its own: another demo of the same folder would join this server, and fail with it.
    const { code, stderr } = await cli.project.run(['demo'], { cwd: dirname(server), env })
    expect(code).toBe(69)
    expect(stderr).toContain('troupe: redis-server 7.0.0 ended at once. The end of its log:\n  one\n  a\\eb\n')
  })

  it('troupe demo says what to install without a Redis, and blames no folder', async () => {
    // In a folder of its own: another demo of the same folder may just be starting a Redis there, and would be waited for.
    const folder = dirname(await cli.project.write('no-redis/f.txt', 'one\n'))
    const { code, stderr } = await cli.project.run(['demo'], { cwd: folder, env: { ...ownRedis, PATH: '/nowhere' } })
    expect(code).toBe(69)
    expect(stderr).toMatch(/^troupe: There is no Redis: .+ install one with: .+\n$/)
  })

  it('troupe demo cancels its survey on Ctrl+C, and exits with 130', async () => {
    const many = Array.from({ length: 300 }, (_, number) => cli.project.write(`many/${number}/file.txt`, 'text'))
    await Promise.all(many)
    // Each answer comes late, so that the survey is not done before the signal arrives.
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    proxy.delay(20)
    const running = cli.project.start(['demo', 'many', '--redis-url', proxy.url])
    await running.saw('Surveying', 'stderr')
    running.child.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect({ code, stderr }).toMatchObject({ code: 130, stderr: expect.stringContaining('again to end at once') })
  })

  it('troupe demo exits with 2 if the current folder was removed', async () => {
    const script = 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"'
    for (const folder of ['.', cli.project.folder]) {
      const words = [process.execPath, '--conditions=troupe-source', main, 'demo', folder]
      const { output } = await runProgram('sh', ['-c', script, 'sh', ...words], 160_000)
      expect(output).toBe('troupe: the current folder does not exist any more (ENOENT): change to another folder.')
    }
  })

  it.skipIf(process.platform !== 'linux')('troupe demo surveys a current folder whose name is not UTF-8', async () => {
    const script = `unset TROUPE_REDIS_URL REDIS_URL; cd "$0" && d=$(printf 'b\\377d') && mkdir "$d" && cd "$d" && echo one > f && exec "$@"`
    const words = [process.execPath, '--conditions=troupe-source', main, 'demo']
    const { ok, output } = await runProgram('sh', ['-c', script, cli.project.folder, ...words], 160_000)
    expect({ ok, output }).toEqual({
      ok: true,
      output: expect.stringMatching(/^# Survey of `.*b\\xffd`\n\n\*\*1 file, 4 bytes/),
    })
    expect(output).toContain('the path of the current folder is not UTF-8.\n')
    // It created no folder with the name that the bytes become as text.
    expect((await readdir(cli.project.folder)).filter((name) => name === 'b\ufffdd')).toHaveLength(1)
  })

  it('troupe demo starts the Redis of the folder, as if none were configured, and leaves nothing running', async () => {
    const env = { TROUPE_REDIS_URL: 'folder' }
    const { code, stdout, stderr } = await cli.project.run(['demo', 'workers'], { env })
    expect({ code, head: stdout.slice(0, 2) }).toEqual({ code: 0, head: '# ' })
    const port = Number(/at 127\.0\.0\.1:(\d+), data in/.exec(stderr)?.[1])
    expect(port).toBeGreaterThan(0)
    await waitUntil('the port is free again', () => isFree(port))
    expect(existsSync(join(cli.project.folder, '.troupe', 'redis'))).toBe(true)
    // The last line names a command that shows the session, whose Redis has ended.
    const [, words = ''] =
      /\nNext: see .* with `troupe (session tree \S+ --redis-url folder)`, or .*\n$/.exec(stderr) ?? []
    const tree = await cli.project.run(words.split(' '), { env: ownRedis })
    expect(tree).toMatchObject({ code: 0, stdout: expect.stringMatching(/^surveyor +done +/m) })
    expect(tree.stderr).toMatch(/^troupe: using .*, data in \.troupe\/redis\n$/)
  })
})

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
