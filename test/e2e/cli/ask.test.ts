/** The inbox of asks at the command line: what a worker asks, and its answer. */
import { describe, expect, it } from 'vitest'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('ask', { withNode: false })

describe('troupe ask', () => {
  it('troupe ask lists a question, shows how to answer it, and takes one answer', async () => {
    const { project } = cli
    await project.write(
      'workers/approver.ts',
      `import { defineWorker } from 'troupe'
export default defineWorker({ receive(message, self) {
  if (message.kind === 'input') self.ask('Ship it?', { options: ['yes', 'no'] })
  else self.reply(message.value)
} })`,
    )
    await project.start(['node']).saw('is ready', 'stdout')
    const { sessionId } = await cli.submit('approver', 'now')
    const running = project.start(['session', 'follow', sessionId])
    await running.saw('asks: Ship it? (answer with: troupe ask answer ')
    const { objects } = await cli.both('ask', 'list')
    expect(objects).toMatchObject([{ sessionId, workerKind: 'approver', state: 'open', question: 'Ship it?' }])
    const id = String(objects[0]?.askId)
    const { text } = await cli.both('ask', 'show', id)
    expect(text).toContain(`troupe ask answer ${id} <answer>`)
    const refused = await project.ask(['ask', 'answer', id, 'perhaps'])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`${id} must be one of: yes, no`) })
    const answered = await project.ask(['ask', 'answer', id, 'yes', '--by', 'ada'])
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining(`answered ask ${id}`) })
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'yes\n' })
    const again = await project.ask(['ask', 'answer', id, 'no'])
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(`ask ${id} was answered by ada`) })
    const { text: all } = await cli.both('ask', 'list', '--session', sessionId, '--state', 'any')
    expect(all).toContain('answered by ada')
  })

  it.each([
    [['ask', 'show', 'nonsense'], 2, 'is not an ask id'],
    [['ask', 'answer', unknownId, 'yes'], 1, `ask ${unknownId} is not known`],
    [['ask', 'answer', unknownId], 2, 'there is no answer'],
    [['ask', 'answer', unknownId, '{"a"'], 2, 'the answer is not valid JSON'],
    [['ask', 'list', '--state', 'answered'], 2, '--session'],
  ])('%j is refused with one sentence', async (args, exitCode, sentence) => {
    const { code, stderr } = await cli.project.ask(args)
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(sentence) })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
