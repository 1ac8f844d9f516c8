/**
 * `troupe completion <shell>`: a script that completes words at Tab. The script asks the hidden `troupe complete`, which never fails and
 * connects to nothing: a shell waits for it at each Tab.
 */
import { Argument, type Command } from 'commander'
import { type Candidate, candidatesFor } from '../completion.ts'
import { plainConfigOf } from '../host/connection.ts'
import { workersFolder } from '../host/worker-files.ts'
import { addExamples } from '../options.ts'
import { print, safe } from '../terminal/output.ts'

const bash = `_troupe() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("\${line%%$'\\t'*}"); done \\
    < <(troupe complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _troupe troupe`

const zsh = `#compdef troupe
_troupe() {
  local -a found
  local line word
  while IFS= read -r line; do
    word="\${line%%$'\\t'*}"
    word="\${word//:/\\\\:}"
    [[ $line == *$'\\t' ]] || word+=":\${line#*$'\\t'}"
    found+=("$word")
  done < <(troupe complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe troupe found; else _files; fi
}
compdef _troupe troupe`

const fish = `function __troupe_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (troupe complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c troupe -f -a '(__troupe_complete)'`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish }

export function addCompletionCommands(program: Command): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options and kinds at Tab')
    .addArgument(new Argument('<shell>', 'the shell that reads the script').choices(Object.keys(scripts)))
  addExamples(command, [
    ["echo 'source <(troupe completion bash)' >> ~/.bashrc", 'bash'],
    ["echo 'source <(troupe completion zsh)' >> ~/.zshrc", 'zsh, after compinit'],
    ['troupe completion fish > ~/.config/fish/completions/troupe.fish', 'fish'],
  ])
  command.action((shell: string) => print(scripts[shell] ?? ''))
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      for (const { word, description } of await candidatesFor(program, words, valuesOf))
        print(`${safe(word)}\t${safe(description)}`)
    })
}

/** The kinds of the local worker files, without running them. */
async function valuesOf(argument: string): Promise<Candidate[]> {
  if (argument !== 'kind') return []
  try {
    const folder = await workersFolder(await plainConfigOf({}))
    if (folder === undefined) return []
    const { kindsOfFiles } = await import('../../compose.ts')
    return (await kindsOfFiles(folder)).map(({ kind }) => ({ word: kind, description: '' }))
  } catch {
    return []
  }
}
