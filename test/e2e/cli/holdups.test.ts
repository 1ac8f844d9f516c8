/** Why does this not go on, who must do what, since when: one sentence and one command, in every view (HOLDUP-1). */
import { describe, expect, it } from 'vitest'
import { CliProject } from '../../cli/cli-project.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const cli = new CliProject('holdups', { withNode: false })

const chain = (spawns: string, body: string) =>
  `import { defineWorker } from 'troupe'
export default defineWorker({ spawns: [${spawns}], receive(message, self) {
  if (message.kind !== 'input') return self.reply(message.value)
  ${body}
} })`

describe('the views of a session', () => {
  it('the views of a session say with one sentence that a grandchild waits for an answer, and which command helps', async () => {
    const { project } = cli
    await project.write('workers/top.ts', chain("'middle'", "self.spawn('middle', null)"))
    await project.write('workers/middle.ts', chain("'asker'", "self.spawn('asker', null, { name: 'docs' })"))
    await project.write('workers/asker.ts', chain('', "self.ask('Ship it?')"))
    await project.start(['node']).saw('is ready', 'stdout')
    const { sessionId } = await cli.submit('top')
    const running = project.start(['session', 'follow', sessionId])
    await running.saw('asks: Ship it?')
    const asked = (await cli.both('ask', 'list')).objects[0]
    const command = `troupe ask answer ${String(asked?.askId)} <answer>`
    const sentence = /docs \(asker\) waits for a person to answer "Ship it\?", for \d/
    const show = await cli.both('session', 'show', sessionId)
    expect(show.text).toMatch(new RegExp(`^held up +${sentence.source}`, 'm'))
    expect(show.text).toMatch(new RegExp(`^to go on +${command}$`, 'm'))
    const holdup = { reason: 'question', needsSomebody: true, command }
    expect(show.objects).toMatchObject([{ session: { holdups: [holdup] } }])
    const tree = await cli.both('session', 'tree', sessionId)
    expect(tree.text).toMatch(sentence)
    expect(tree.text).toContain(`\n  ${command}\n`)
    const list = await project.ask(['ask', 'list'])
    expect(list.stdout).toContain('a person to answer "Ship it?"')
    expect(list.stderr).toBe(`To go on: ${command}\n`)
    expect(asked).toMatchObject({ sessionId, holdup })
    const doctor = await project.ask(['doctor'])
    expect(doctor.stdout.replaceAll(/\s+/g, ' ')).toMatch(sentence)
    expect(doctor.stdout.replaceAll(/\s+/g, ' ')).toContain(command)
    await project.ask(['ask', 'answer', String(asked?.askId), 'yes'])
    expect(await running.ended).toMatchObject({ code: 0 })
    const after = await cli.both('session', 'show', sessionId)
    expect(after.text).not.toMatch(/^(held up|to go on)/m)
    expect((await project.ask(['doctor'])).stdout).not.toContain('Ship it?')
  })

  it('the views of a session say what a conversation, a timer and a kind that nobody hosts wait for', async () => {
    const { project } = cli
    const talk = await cli.submit('echo', 'hello', '--keep-open')
    await project.ask(['session', 'result', talk.sessionId, '--run', '1', '--wait'])
    const shown = async (id: string) => (await cli.both('session', 'show', id)).text
    expect(await shown(talk.sessionId)).toMatch(/^held up +echo waits for its next message, for /m)
    expect(await shown(talk.sessionId)).toContain(`troupe send ${talk.sessionId} <text>`)
    const timed = await cli.submit('waits', 'x')
    await project.start(['session', 'follow', timed.sessionId]).saw('waits')
    const timer = /^waits for +a timer, for \S+, due in (9|10)m/m
    await waitUntil('it waits for its timer', async () => timer.test(await shown(timed.sessionId)))
    const nowhere = await cli.submit('nowhere', 'x')
    expect(await shown(nowhere.sessionId)).toMatch(/^waits for +a node that hosts nowhere, for /m)
    expect(await shown(nowhere.sessionId)).toMatch(/^to go on +troupe node --workers \.\/workers$/m)
  })
})
