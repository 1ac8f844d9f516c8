/** The words that docs/glossary.md gives up do not come back: not in the sources, not in the Lua, not on the pages. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = 'docs/glossary.md'
const files = globSync(['{src,workers}/**/*.{ts,lua,md}', 'docs/**/*.md', 'README.md'], { cwd: root })
  .filter((file) => file !== page)
  .map((file) => ({ file, lines: readFileSync(`${root}/${file}`, 'utf8').split('\n') }))

interface GivenUp {
  /** As the glossary lists it. */
  readonly word: string
  readonly pattern: RegExp
  /** Files that may use the word in another meaning. */
  readonly but?: readonly string[]
  /** False while the sources still use it: then its test is to do. */
  readonly isGone: boolean
}

/** The word alone, in the plural, or as a part of a camel-case name. */
function word(text: string): RegExp {
  const capital = text[0]?.toUpperCase() + text.slice(1)
  return new RegExp(`(?<![A-Za-z])(${text}|${capital})s?(?![a-z])|(?<=[a-z])${capital}s?(?![a-z])`)
}

const givenUp: readonly GivenUp[] = [
  { word: 'bell', pattern: word('bell'), isGone: true },
  { word: 'ring', pattern: /(?<![A-Za-z])(ring|rings|ringing|rung|ringer)(?![a-z])|Ringer|Rung/, isGone: true },
  { word: 'hint', pattern: word('hint'), isGone: true },
  { word: 'told', pattern: /\bTold\b|\btold(?=[A-Z])|[a-z]Told|`told`|\btold bell/, isGone: true },
  { word: 'heard', pattern: /\bHeard|\bheard(?=[A-Z])|[a-z]Heard/, isGone: true },
  { word: 'in vain', pattern: /\bin vain\b/, isGone: true },
  { word: 'hop', pattern: word('hop'), isGone: true },
  {
    word: 'share',
    pattern: /\bT:share|:share:|\.share\b|\bshareOf\b|\bthe share\b/,
    but: ['workers/_survey/'],
    isGone: true,
  },
  { word: 'grant', pattern: /(?<![a-z])[Gg]rant(s|ed)?(?![a-z])|(?<=[a-z])Grants?(?![a-z])/, isGone: true },
  { word: 'mark', pattern: /\b(cancelHit|marksNow|markOf|writeMark)\b|\.marks?\b|\bmarks?:/, isGone: true },
  { word: 'place', pattern: /\.place\b|'place'|`place`/, but: ['src/wake/', 'src/compose.ts'], isGone: true },
  { word: 'alone', pattern: /\.alone\b|\balone\??: (boolean|true|false)|[sS]tartAlone|StartsAlone/, isGone: true },
  { word: 'eager', pattern: word('eager'), isGone: true },
  { word: 'gather', pattern: /gather/i, but: ['workers/_survey/'], isGone: true },
  { word: 'joint', pattern: word('joint'), isGone: true },
  { word: 'only step', pattern: /(?<!read)[oO]nly[ -]?steps?\b|only-?steps|onlySteps?/, isGone: true },
  { word: 'sibling words', pattern: /commit-?words|sibling words|shared words/i, isGone: true },
  { word: 'give back', pattern: /\bgiv(e|es|en|ing) back\b|\bgave back\b|giveBack|givenBack/, isGone: true },
  { word: 'given up call', pattern: /given-up|givenUp|GivenUp/, isGone: true },
  { word: 'Scene', pattern: /\bScene\b/, isGone: true },
  { word: 'Relay', pattern: /\b[Rr]elay\b/, isGone: true },
  { word: 'Pace', pattern: /\b[Pp]ace\b/, isGone: true },
  { word: 'Bag', pattern: /\bBag\b|\bbag\b/, isGone: true },
  { word: 'Left', pattern: /\bLeft\b(?![a-z: ]*[|])/, isGone: true },
  { word: 'awaits', pattern: /`awaits`|\.awaits\b|\bawaits:|`awaiting`|\.awaiting\b|\bawaiting:/, isGone: true },
  {
    word: 'family',
    pattern: /(?<![a-z])[Ff]amily(?![a-z])|family(Seen|Taken|Used|Left|Key)/,
    but: ['src/core/redis-url.ts'],
    isGone: true,
  },
  {
    word: 'control lane',
    pattern: /\bcontrol lane|'control'|\bcontrol(Used|Left|Taken)\b|mail:control/,
    isGone: true,
  },
  { word: 'user lane', pattern: /\buser lane|\buser(Used|Left|Taken|Key)\b|mail:user|`user-\d/, isGone: true },
  { word: 'shown', pattern: /\bshown\(|\bshown(Item|BytesMax)|\/shown\.ts/, but: ['workers/_survey/'], isGone: true },
  { word: 'script way', pattern: /script-?way|ScriptWay/i, isGone: true },
  { word: 'outlast', pattern: /outlast|Outlast/, isGone: true },
  { word: 'standing', pattern: /SessionStanding|\bstanding\(|`standing`/, isGone: true },
  { word: 'stray', pattern: word('stray'), isGone: true },
  {
    word: 'try (noun)',
    pattern: /\b(failed|two|three|more|last|each|which|further) (try|tries)\b|\.tries\b|\btries:/,
    isGone: true,
  },
  { word: 'stand in line', pattern: /\b(stand|stands|stood) in (the )?line\b|\bin line\b/, isGone: true },
]

function uses({ pattern, but = [] }: GivenUp): string[] {
  return files
    .filter(({ file }) => !but.some((folder) => file.startsWith(folder)))
    .flatMap(({ file, lines }) =>
      lines.flatMap((line, index) =>
        pattern.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 140)}`] : [],
      ),
    )
}

describe('a word that was given up', () => {
  for (const one of givenUp) {
    const title = `"${one.word}" does not come back`
    if (one.isGone) test(title, () => expect(uses(one).slice(0, 20)).toEqual([]))
    else test.todo(title)
  }

  test('is listed in the glossary, with the word to use instead', () => {
    const section = /## Words that were given up\n([\s\S]*)/.exec(readFileSync(`${root}/${page}`, 'utf8'))?.[1] ?? ''
    const rows = [...section.matchAll(/^\| (?!word|---)([^|]+) \| ([^|]+) \|/gm)].map(([, given]) => given)
    expect(rows).toEqual(givenUp.map(({ word }) => word))
  })
})
