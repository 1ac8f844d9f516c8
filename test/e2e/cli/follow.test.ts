/** Sessions that a person follows or talks to, without a terminal. */
import { describe, expect, it } from 'vitest'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('follow', { withNode: true })
const failsUntilMended = `import { existsSync } from 'node:fs'
import { defineWorker } from 'troupe'
export default defineWorker({ retries: 0, receive(message, self) {
  if (!existsSync('is-mended')) throw new Error('not mended yet')
  self.reply('mended')
} })`

describe.concurrent('troupe session follow', () => {
  it('troupe session follow shows a session from its beginning, as lines that name their worker, and prints its result', async () => {
    const { sessionId } = await cli.submit('parent')
    const { code, stdout, stderr } = await cli.project.ask(['session', 'follow', sessionId])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'both have ended\n' })
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d {2}parent {2}spawned echo, fails/m)
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d {2}fails second {2}failed: handler_failed/m)
    expect(stderr).not.toContain('\u001b')
  })

  it('troupe session follow shows the histories of its workers on request, each entry once and in order', async () => {
    const { sessionId } = await cli.submit('parent')
    const { code, stdout, stderr } = await cli.project.ask(['session', 'follow', sessionId, '--history'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'both have ended\n' })
    const entriesOf = (name: string) =>
      stderr.split('\n').flatMap((line) => new RegExp(`^${name} {2,}(\\d+ {2}\\d\\d:.*)`).exec(line)?.[1] ?? [])
    const ofParent = entriesOf('parent')
    expect(ofParent.map((line) => Number(line.split(' ')[0]))).toEqual(ofParent.map((_, position) => position))
    expect(ofParent[0]).toMatch(/received input: .*spawned echo/)
    expect(ofParent.at(-1)).toContain('completed: both have ended')
    expect(entriesOf('fails second').at(-1)).toContain('failed: handler_failed')
  })

  it('troupe session follow prints history entries as JSON lines on request, also of a session that has ended', async () => {
    const { sessionId } = await cli.submit('parent')
    await cli.waitForEnd(sessionId)
    const { objects } = await cli.project.ask(['session', 'follow', sessionId, '--json', '--history'])
    const entries = objects.filter(({ type }) => type === 'history.entry')
    expect(new Set(entries.map(({ workerId }) => workerId)).size).toBe(3)
    expect(entries).toContainEqual({
      type: 'history.entry',
      sessionId,
      workerId: expect.any(String),
      position: 0,
      entry: expect.objectContaining({ type: 'received' }),
    })
    expect(objects.at(-1)).toMatchObject({ type: 'result', sessionId })
  })

  it('troupe session follow prints events and the result as JSON lines, also of a session that has ended', async () => {
    const { sessionId } = await cli.submit('fails')
    await cli.waitForEnd(sessionId)
    const { code, objects } = await cli.project.ask(['session', 'follow', sessionId, '--json'])
    expect(code).toBe(1)
    expect(objects[0]).toMatchObject({ type: 'session.created' })
    expect(objects.at(-1)).toMatchObject({ type: 'result', status: 'failed', sessionId })
  })

  it('troupe session follow shows a session that failed and was retried to its last end', async () => {
    const { project } = cli
    await project.write('workers/mended.ts', failsUntilMended)
    await project.start(['node']).saw('is ready', 'stdout')
    const { sessionId } = await cli.submit('mended')
    await cli.waitForEnd(sessionId)
    await project.write('is-mended', '')
    const { stdout: retried } = await project.ask(['session', 'retry', sessionId])
    expect(retried).toBe(`session ${sessionId} goes on in run 1 with message inbox-0 (input)\n`)
    const { code, objects } = await project.ask(['session', 'follow', sessionId, '--json'])
    expect(code).toBe(0)
    const types = objects.map(({ type }) => String(type)).filter((type) => /^(session|result)/.test(type))
    expect(types).toEqual(['session.created', 'session.failed', 'session.retried', 'session.completed', 'result'])
  })

  it('troupe session follow says why a run of a conversation failed', async () => {
    const { sessionId } = await cli.submit('fails', '--keep-open')
    const running = cli.project.start(['session', 'follow', sessionId])
    await running.saw(/ fails {2}.*failed/)
    expect(running.stderr).toContain('failed: handler_failed')
  })

  it('troupe session follow leaves the session alone on Ctrl+C', async () => {
    const { sessionId } = await cli.submit('waits')
    const running = cli.project.start(['session', 'follow', sessionId])
    await running.saw('started')
    running.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect({ code, stderr }).toMatchObject({
      code: 130,
      stderr: expect.stringContaining(`session ${sessionId} goes on`),
    })
    const { objects } = await cli.project.ask(['session', 'show', sessionId, '--json'])
    expect(objects[0]).toMatchObject({ session: { state: 'active' } })
    await cli.project.ask(['session', 'cancel', sessionId])
  })

  it('troupe session follow --json ends when its reader has read enough (OUT-1)', async () => {
    const { sessionId } = await cli.submit('waits')
    const running = cli.project.start(['session', 'follow', sessionId, '--json'])
    await running.saw('run.started', 'stdout')
    running.child.stdout?.destroy()
    await cli.project.ask(['send', sessionId, 'more'])
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('goes on') as string })
    await cli.project.ask(['session', 'cancel', sessionId])
  })

  it('troupe session follow refuses a session that does not exist with one sentence', async () => {
    const { code, stderr } = await cli.project.ask(['session', 'follow', unknownId])
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe.concurrent('troupe run --keep-open', () => {
  it('troupe run --keep-open answers each line of stdin in order, and closes the conversation at its end (TALK-1)', async () => {
    const options = { stdin: 'abc\n\nde\n' }
    const { code, stdout, stderr } = await cli.project.run(['run', 'tally', '--keep-open', '--raw'], options)
    expect({ code, stdout: stdout.replace(/\s/g, '') }).toEqual({ code: 0, stdout: '{"total":3}{"total":5}' })
    const sessionId = /the conversation is closed: session (\S+)$/m.exec(stderr)?.[1] ?? ''
    const { objects } = await cli.project.ask(['session', 'show', sessionId, '--json'])
    expect(objects[0]).toMatchObject({ session: { state: 'completed' } })
  })

  it('troupe run --keep-open takes the first message from the command line, and prints a result for each with --json', async () => {
    const { code, objects } = await cli.project.run(['run', 'tally', 'abc', '--keep-open', '--json'], { stdin: 'de\n' })
    expect(code).toBe(0)
    const results = objects.filter(({ type }) => type === 'result')
    expect(results).toMatchObject([
      { run: 1, value: { total: 3 } },
      { run: 2, value: { total: 5 } },
    ])
  })

  it('troupe run --keep-open says that the session was not closed if an error ends it (TALK-2)', async () => {
    const { code, stdout, stderr } = await cli.project.run(['run', 'tally', '--keep-open'], { stdin: 'abc\n{"a":\n' })
    expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 2, stdout: { total: 3 } })
    const sessionId = /^troupe: session (\S+)$/m.exec(stderr)?.[1]
    expect(stderr).toContain(`session ${sessionId} was not closed.`)
    await cli.project.ask(['session', 'close', String(sessionId)])
  })

  it('troupe run --keep-open goes on after a run that failed, and exits with 1 if the last one did', async () => {
    const { code, stderr } = await cli.project.run(['run', 'fails', '--keep-open'], { stdin: 'a\nb\n' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/run 1 of session .* failed: [\s\S]*run 2 of session .* failed: /)
  })

  it('troupe run --keep-open creates nothing without a message', async () => {
    const { code, stderr } = await cli.project.run(['run', 'tally', '--keep-open'], { stdin: '' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})
