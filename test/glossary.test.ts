/** The words that docs/glossary.md gives up do not come back: not in the sources, not in the Lua, not on the pages, not in names of files; some not in tests. */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = 'docs/glossary.md'
const files = read('{src,workers}/**/*.{ts,tsx,lua,md}', 'docs/**/*.md', 'README.md')
const tests = read('test/**/*.{ts,tsx}')

const names = globSync(['{src,workers,test,bench,scripts}/**/*.*', 'docs/**/*.md'], { cwd: root })

interface GivenUp {
  /** The word, as the glossary lists it. */
  readonly word: string
  readonly pattern: RegExp
  /** Files that may use the word in another meaning. */
  readonly but?: readonly string[]
  /** Parts of a file's name, between hyphens. Absent for a word that is ordinary in a name. */
  readonly inNames?: RegExp
  /** The word does not come back in tests either. Absent for a word that tests use in another meaning. */
  readonly inTests?: true
}

function read(...patterns: readonly string[]) {
  return globSync(patterns, { cwd: root })
    .filter((file) => file !== page && !file.startsWith('test/glossary.'))
    .map((file) => ({ file, lines: readFileSync(`${root}/${file}`, 'utf8').split('\n') }))
}

/** A part of a file's name, or several with hyphens, alone or in the plural. */
function namePart(text: string): RegExp {
  return new RegExp(`(^|-)${text}s?([-.]|$)`)
}

/** The word alone, in the plural, or as a part of a camel-case name. */
function word(text: string): RegExp {
  const capital = text[0]?.toUpperCase() + text.slice(1)
  return new RegExp(`(?<![A-Za-z])(${text}|${capital})s?(?![a-z])|(?<=[a-z])${capital}s?(?![a-z])`)
}

const givenUp: readonly GivenUp[] = [
  { word: 'bell', pattern: word('bell'), inNames: namePart('bell') },
  {
    word: 'ring',
    pattern: /(?<![A-Za-z])(ring|rings|ringing|rung|ringer)(?![a-z])|Ringer|Rung/,
    inNames: /(^|-)(rings?|rung|ringer)([-.]|$)/,
    inTests: true,
  },
  { word: 'hint', pattern: word('hint'), inNames: namePart('hint'), inTests: true },
  { word: 'told', pattern: /\bTold\b|\btold(?=[A-Z])|[a-z]Told|`told`|\btold bell/, inNames: namePart('told') },
  { word: 'heard', pattern: /\bHeard|\bheard(?=[A-Z])|[a-z]Heard/, inNames: namePart('heard') },
  { word: 'in vain', pattern: /\bin vain\b/ },
  { word: 'hop', pattern: word('hop'), inNames: namePart('hop') },
  {
    word: 'share',
    pattern: /\bT:share|:share:|\.share\b|\bshareOf\b|\bthe share\b/,
    but: ['workers/_survey/'],
  },
  {
    word: 'grant',
    pattern: /(?<![a-z])[Gg]rant(s|ed)?(?![a-z])|(?<=[a-z])Grants?(?![a-z])/,
    inNames: namePart('grant'),
  },
  { word: 'mark', pattern: /\b(cancelHit|marksNow|markOf|writeMark)\b|\.marks?\b|\bmarks?:/ },
  { word: 'place', pattern: /\.place\b|'place'|`place`/, but: ['src/wake/', 'src/compose'] },
  { word: 'alone', pattern: /\.alone\b|\balone\??: (boolean|true|false)|[sS]tartAlone|StartsAlone/ },
  { word: 'eager', pattern: word('eager'), inNames: namePart('eager'), inTests: true },
  { word: 'gather', pattern: /gather/i, but: ['workers/_survey/'], inNames: /(^|-)gather/ },
  { word: 'joint', pattern: word('joint'), inNames: namePart('joint') },
  {
    word: 'only step',
    pattern: /(?<!read)[oO]nly[ -]?steps?\b|only-?steps|onlySteps?/,
    inNames: namePart('only-step'),
  },
  { word: 'sibling words', pattern: /commit-?words|sibling words|shared words/i, inNames: /commit-words/ },
  { word: 'give back', pattern: /\bgiv(e|es|en|ing) back\b|\bgave back\b|giveBack|givenBack/ },
  { word: 'given up call', pattern: /given-up|givenUp|GivenUp/, inNames: namePart('given-up') },
  { word: 'Scene', pattern: /\bScene\b/ },
  { word: 'Relay', pattern: /\b[Rr]elay\b/, inNames: namePart('relay') },
  { word: 'Pace', pattern: /\b[Pp]ace\b/ },
  { word: 'Bag', pattern: /\bBag\b|\bbag\b/ },
  { word: 'Left', pattern: /\bLeft\b(?![a-z: ]*[|])/ },
  { word: 'awaits', pattern: /`awaits`|\.awaits\b|\bawaits:|`awaiting`|\.awaiting\b|\bawaiting:/ },
  {
    word: 'family',
    inNames: /(^|-)famil(y|ies)([-.]|$)/,
    // `send: 'family'` of permissions means parent and own children.
    pattern: /(?<![a-z])[Ff]amily (?:lane|mail|results)|family(Seen|Taken|Used|Left|Key)/,
    but: ['src/core/redis-url.ts'],
  },
  {
    word: 'control lane',
    inNames: namePart('control'),
    pattern: /\bcontrol lane|'control'|\bcontrol(Used|Left|Taken)\b|mail:control/,
  },
  {
    word: 'user lane',
    pattern: /\buser lane|\buser(Used|Left|Taken|Key)\b|mail:user|`user-\d/,
    inNames: namePart('user-lane'),
  },
  { word: 'shown', pattern: /\bshown\(|\bshown(Item|BytesMax)|\/shown\.ts/, but: ['workers/_survey/'] },
  { word: 'script way', pattern: /script-?way|ScriptWay/i, inNames: namePart('script-way') },
  { word: 'outlast', pattern: /outlast|Outlast/, inNames: /outlast/ },
  { word: 'standing', pattern: /SessionStanding|\bstanding\(|`standing`/ },
  { word: 'stray', pattern: word('stray'), inNames: namePart('stray') },
  {
    word: 'try (noun)',
    pattern: /\b(failed|two|three|more|last|each|which|further) (try|tries)\b|\.tries\b|\btries:/,
    inTests: true,
  },
  { word: 'stand in line', pattern: /\b(stand|stands|stood) in (the )?line\b|\bin line\b/, inTests: true },
]

function uses({ pattern, but = [], inTests }: GivenUp): string[] {
  return (inTests ? [...files, ...tests] : files)
    .filter(({ file }) => !but.some((folder) => file.startsWith(folder)))
    .flatMap(({ file, lines }) =>
      lines.flatMap((line, index) =>
        pattern.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 140)}`] : [],
      ),
    )
}

function namesWith({ inNames, but = [] }: GivenUp): string[] {
  if (inNames === undefined) return []
  return names.filter((file) => inNames.test(basename(file)) && !but.some((folder) => file.startsWith(folder)))
}

describe('a word that was given up', () => {
  for (const one of givenUp) {
    test(`"${one.word}" does not come back`, () => expect([...uses(one), ...namesWith(one)].slice(0, 20)).toEqual([]))
  }

  test('a word that was given up is listed in the glossary, with the word to use instead', () => {
    const section = /## Words that were given up\n([\s\S]*)/.exec(readFileSync(`${root}/${page}`, 'utf8'))?.[1] ?? ''
    const rows = [...section.matchAll(/^\| (?!word|---)([^|]+) \| ([^|]+) \|/gm)].map(([, given]) => given)
    expect(rows).toEqual(givenUp.map(({ word }) => word))
  })
})
