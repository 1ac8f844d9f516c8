/** The demo, on a configured Redis and on one that it starts itself. */
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CliProject, workers } from '../cli/cli-project.ts'
import { waitUntil } from '../support/wait-until.ts'

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

  it('prints events and the totals with --json, and writes the report to a file', async () => {
    const { code, objects } = await cli.project.run(['demo', 'workers', '--json', '--out', 'report.md'])
    expect(code).toBe(0)
    expect(objects[0]).toMatchObject({ type: 'session.created' })
    expect(objects.at(-1)).toMatchObject({ type: 'report', files: Object.keys(workers).length, unreadable: 0 })
    expect(await readFile(join(cli.project.folder, 'report.md'), 'utf8')).toMatch(/^# /)
  })

  it('exits with 2 before it surveys for a report that cannot be written', async () => {
    const { code, stdout, stderr } = await cli.project.run(['demo', 'workers', '--out', 'none/report.md'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^troupe: the report cannot be written: ENOENT.*none.*\n$/)
  })

  it.each([
    [['demo', 'workers', '--out', ''], 'the report cannot be written: --out is an empty text; name a file.'],
    [['demo', 'workers', '--out', 'reports/'], 'the report cannot be written: reports/ is a folder.'],
    [['demo', ''], 'the folder is an empty text: name one, or none at all for this one.'],
  ])('exits with 2 before it surveys: %j', async (args, message) => {
    const ended = await cli.project.run(args)
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: `troupe: ${message}\n` })
  })

  it('shows a report that could not be written at last, and says where it is kept', async () => {
    const folder = dirname(await cli.project.write('passing/none.txt', ''))
    const running = cli.project.start(['demo', 'workers', '--out', join(folder, 'report.md')])
    await running.saw('Using the Redis')
    await rm(folder, { recursive: true })
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringMatching(/^# /) })
    expect(stderr).toMatch(/troupe: the report cannot be written: ENOENT.* It is on stdout instead\. It is kept as/)
    const command = /`troupe (session result [0-9a-f-]{36} --json)`/.exec(stderr)?.[1] as string
    const { objects } = await cli.project.run(command.split(' '))
    expect(objects[0]).toMatchObject({ value: { facts: { report: { markdown: stdout } } } })
  })

  it('exits with 2 for a folder that is not there', async () => {
    expect(await cli.project.run(['demo', 'nowhere'])).toMatchObject({
      code: 2,
      stderr: 'troupe: there is no folder nowhere.\n',
    })
    expect(await cli.project.run(['demo', 'workers/echo.ts'])).toMatchObject({ code: 2 })
  })

  it('starts a Redis where none is configured, and leaves nothing running', { timeout: 120_000 }, async () => {
    const { code, stdout, stderr } = await cli.project.run(['demo', 'workers'], { env: { TROUPE_REDIS_URL: '' } })
    expect({ code, head: stdout.slice(0, 2) }).toEqual({ code: 0, head: '# ' })
    const port = Number(/at 127\.0\.0\.1:(\d+), data in/.exec(stderr)?.[1])
    expect(port).toBeGreaterThan(0)
    await waitUntil('the port is free again', () => isFree(port))
    expect(existsSync(join(cli.project.folder, '.troupe', 'redis'))).toBe(true)
  })
})

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
