/** Pausing and resuming at the command line: one session, or all of the namespace. */
import { beforeAll, describe, expect, it } from 'vitest'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('pause', { withNode: true })

describe('troupe session pause', () => {
  it('troupe session pause holds a session, which says so everywhere, until troupe session resume', async () => {
    const { project } = cli
    const { sessionId } = await cli.submit('tally', 'abc', '--keep-open')
    await project.ask(['session', 'result', sessionId, '--run', '1', '--wait'])
    const paused = await project.ask(['session', 'pause', sessionId, '--reason', 'look \u001b[2Jfirst', '--by', 'ada'])
    expect(paused).toMatchObject({
      code: 0,
      stdout: `session ${sessionId} is paused; go on with: troupe session resume ${sessionId}\n`,
    })
    await project.ask(['send', sessionId, 'de'])
    const { text, objects } = await cli.both('session', 'show', sessionId)
    expect(text).toMatch(/^paused +since .*, by ada: look \\e\[2Jfirst$/m)
    expect(objects[0]).toMatchObject({ session: { state: 'active', paused: { by: 'ada' } } })
    const list = await cli.both('session', 'list')
    expect(list.text).toMatch(new RegExp(`^${sessionId} +tally +paused `, 'm'))
    expect((await cli.both('session', 'tree', sessionId)).text).toContain('paused')
    const { stdout } = await project.ask(['doctor'])
    expect(stdout).toContain(`troupe session resume ${sessionId}`)
    const resumed = await project.ask(['session', 'resume', sessionId])
    expect(resumed).toMatchObject({ code: 0, stdout: `session ${sessionId} goes on\n` })
    const result = await project.ask(['session', 'result', sessionId, '--run', '2', '--wait'])
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('5') })
    expect((await project.ask(['session', 'resume', sessionId])).stdout).toBe(`session ${sessionId} was not paused\n`)
    expect((await cli.both('session', 'show', sessionId)).text).not.toMatch(/^paused/m)
  })

  it.each([
    [['session', 'pause', unknownId], 1, `session ${unknownId} is not known`],
    [['session', 'resume', unknownId], 1, `session ${unknownId} is not known`],
    [['pause'], 2, 'troupe pause is about all sessions: add --all'],
    [['resume'], 2, 'troupe resume is about all sessions: add --all'],
  ])('%j is refused with one sentence', async (args, exitCode, sentence) => {
    const { code, stderr } = await cli.project.ask(args)
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(sentence) })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('troupe session pause refuses a session that has finished', async () => {
    const { sessionId } = await cli.submit('echo', 'x')
    await cli.waitForEnd(sessionId)
    const { code, stderr } = await cli.project.ask(['session', 'pause', sessionId])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`session ${sessionId} is completed`) })
  })
})

describe('troupe pause --all', () => {
  beforeAll(async () => {
    await cli.project.ask(['pause', '--all', '--reason', 'it bills twice', '--by', 'ada'])
  })

  it('troupe pause --all holds what is submitted, says who and why in doctor, and goes on with troupe resume --all', async () => {
    const { project } = cli
    const { sessionId } = await cli.submit('echo', 'x')
    const doctor = await project.ask(['doctor'])
    expect(doctor.stdout).toMatch(/all sessions are paused by ada since .* \(it bills twice\)/)
    expect(doctor.stdout).toContain('troupe resume --all')
    expect((await cli.both('session', 'show', sessionId)).text).toContain('all sessions to be resumed')
    expect((await cli.both('resume', '--all')).objects).toMatchObject([{ type: 'resumed' }])
    await cli.waitForEnd(sessionId)
    expect((await project.ask(['doctor'])).stdout).not.toContain('are paused')
  })
})
