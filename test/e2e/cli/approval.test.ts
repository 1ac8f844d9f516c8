/** Approvals of tool calls at the command line: what waits, and the decision. */
import { describe, expect, it } from 'vitest'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('approval', { withNode: false })

const clerk = `import { defineTool, defineWorker } from 'troupe'
import { z } from '${import.meta.resolve('zod')}'
const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', input: z.object({ cents: z.int() }), run: ({ cents }) => 'paid ' + cents })
export default defineWorker({ instructions: '1. Call \`pay\`.', tools: [pay] })`

describe('troupe approval', () => {
  it('troupe approval lists and shows a call, and lets it run, with other arguments, or not', async () => {
    const { project } = cli
    await project.write('workers/clerk.ts', clerk)
    await project.start(['node']).saw('is ready', 'stdout')

    const { sessionId } = await cli.submit('clerk', '{"cents":5}')
    await project.start(['session', 'follow', sessionId]).saw('(decide with: troupe approval show ')
    const { objects, text } = await cli.both('approval', 'list', '--session', sessionId)
    expect(objects).toMatchObject([{ sessionId, tool: 'pay', arguments: { cents: 5 }, state: 'open' }])
    expect(text).toContain('pay {"cents":5}')
    const id = String(objects[0]?.approvalId)
    const { text: shown } = await cli.both('approval', 'show', id)
    expect(shown).toContain('"cents": 5')
    expect(shown).toContain(`troupe approval approve ${id}`)
    const approved = await project.ask(['approval', 'approve', unknownId, id, '--by', 'ada'])
    const notKnown = expect.stringContaining(`ask ${unknownId} is not known`) as string
    expect(approved).toMatchObject({ code: 1, stdout: `approved ${id}\n`, stderr: notKnown })
    const { stdout } = await project.ask(['session', 'result', sessionId, '--wait'])
    expect(stdout).toContain('paid 5')
    const again = await project.ask(['approval', 'deny', id])
    const answered = expect.stringContaining(`ask ${id} was answered by ada`) as string
    expect(again).toMatchObject({ code: 1, stderr: answered })
    // No editor opens.
    const edited = await project.run(['approval', 'approve', id, '--edit'], { env: { EDITOR: '/no/editor' } })
    expect(edited).toMatchObject({ code: 1, stderr: answered })
  })

  it.each([
    [['approval', 'show', 'nonsense'], 2, 'is not an ask id'],
    [['approval', 'approve', unknownId], 1, `ask ${unknownId} is not known`],
    [['approval', 'approve'], 2, 'name the id of an approval, or --all'],
    [['approval', 'deny', unknownId, '--all'], 2, 'not both'],
    [['session', 'approval', unknownId, 'all'], 2, 'policy'],
  ])('%j is refused with one sentence', async (args, exitCode, sentence) => {
    const { code, stderr } = await cli.project.ask(args)
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(sentence) })
  })
})
