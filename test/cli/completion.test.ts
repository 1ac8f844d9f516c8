/** What a shell offers at Tab. */
import { Argument, Command, Option } from 'commander'
import { expect, test } from 'vitest'
import { candidatesFor } from '../../src/cli/completion.ts'

function programOf(): Command {
  const program = new Command('troupe')
  const session = program.command('session').description('sessions')
  session
    .command('list')
    .addOption(new Option('--state <state>', 'only these').choices(['active', 'failed']))
    .option('-v, --verbose', 'more')
    .option('--out <file>', 'a file')
  program.command('run').argument('<kind>').argument('[input]').option('--json', 'JSON')
  program.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
  program.command('secret', { hidden: true })
  return program.helpCommand(false)
}

test.each([
  [[''], ['session', 'run', 'completion']],
  [['se'], ['session']],
  [
    ['session', ''],
    ['list', 'help'],
  ],
  [
    ['session', 'list', '--'],
    ['--state', '--verbose', '--out', '--help'],
  ],
  [['session', 'list', '-v'], ['-v']],
  [
    ['session', 'list', '--state', ''],
    ['active', 'failed'],
  ],
  [['session', 'list', '--state', 'f'], ['failed']],
  [['session', 'list', '--out', ''], []],
  [['session', 'list', '--state=active', '--v'], ['--verbose']],
  [
    ['run', ''],
    ['reader', 'surveyor'],
  ],
  [['run', '--json', 'r'], ['reader']],
  [['run', 'reader', ''], []],
  [['run', '--', '--js'], []],
  [['completion', 'z'], ['zsh']],
  [
    ['nothing', 'known', ''],
    ['session', 'run', 'completion'],
  ],
])('completion of %j offers %j', async (words, offered) => {
  const kinds = ['reader', 'surveyor'].map((word) => ({ word, description: '' }))
  const found = await candidatesFor(programOf(), words, async (argument) => (argument === 'kind' ? kinds : []))
  expect(found.map(({ word }) => word)).toEqual(offered)
})
