/** The scripts for shells, and what they ask at each Tab. */
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runProgram } from '../../../src/dev/program.ts'
import { CliProject } from '../../cli/cli-project.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const cli = new CliProject('completion', { withNode: false })

it.each(['bash', 'zsh', 'fish'])('troupe completion %s prints a script', async (shell) => {
  const { code, stdout } = await cli.project.ask(['completion', shell])
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/troupe complete -- /) })
})

it('a shell that is not known is an error that names the known ones', async () => {
  const { code, stderr } = await cli.project.ask(['completion', 'tcsh'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('bash, zsh, fish') })
})

it('kinds of the local files are offered without running them, and nothing in a folder without them', async () => {
  await cli.project.write('workers/broken.ts', 'throw new Error("it ran")')
  const here = await cli.project.run(['complete', '--', 'run', 'e'])
  expect(here).toMatchObject({ code: 0, stdout: 'echo\t\n', stderr: '' })
  const elsewhere = await cli.project.run(['complete', '--', 'run', ''], { cwd: '/' })
  expect(elsewhere).toMatchObject({ code: 0, stdout: '', stderr: '' })
})

it('bash completes a verb', async () => {
  const troupe = `troupe() { "${process.execPath}" --conditions=troupe-source "${main}" "$@"; }`
  const tab = `COMP_WORDS=(troupe session fol) COMP_CWORD=2; _troupe; echo "\${COMPREPLY[*]}"`
  const { ok, output } = await runProgram('bash', ['-c', `${troupe}; eval "$(troupe completion bash)"; ${tab}`], 60_000)
  expect({ ok, output }).toEqual({ ok: true, output: 'follow' })
})
