/**
 * Duty: find dependencies by patterns in manifests that are programs or lines of text. Patterns are good enough to list names, and nothing has to be
 * run. All patterns take time in proportion to the text. A line ends only at a newline, so "." must also match a carriage return.
 */

/** Names by group (runtime, development …), as the manifest writes them. */
export type Declared = Map<string, Set<string>>

/** requirements.txt: one requirement in each line. Options such as `-r other.txt` declare nothing. */
export function declaredInRequirements(text: string): Declared {
  const names = new Set<string>()
  for (const line of text.split('\n')) {
    const requirement = line.replace(/(^|\s)#.*$/s, '').trim()
    const editable = /^-e\s.*#egg=([\w.-]+)/.exec(line.trim())
    const name = editable?.[1] ?? /^([A-Za-z0-9][\w.-]*)\s*($|[[<>=!~;@,( \\])/.exec(requirement)?.[1]
    if (name !== undefined) names.add(name)
  }
  return new Map([['runtime', names]])
}

export function declaredInGoMod(text: string): Declared {
  const direct = new Set<string>()
  const indirect = new Set<string>()
  let isInBlock = false
  for (const line of text.split('\n')) {
    const words = line
      .replace(/\/\/.*$/s, '')
      .replace('(', ' ( ')
      .trim()
      .split(/\s+/)
    if (words[0] === 'require' && words[1] === '(') isInBlock = true
    else if (words[0] === ')') isInBlock = false
    else {
      const name = isInBlock ? words[0] : words[0] === 'require' ? words[1] : undefined
      if (name) (/\/\/\s*indirect/.test(line) ? indirect : direct).add(name.replace(/^(["`])(.*)\1$/, '$2'))
    }
  }
  return new Map([
    ['runtime', direct],
    ['indirect', indirect],
  ])
}

export function declaredInRuby(text: string): Declared {
  const runtime = new Set<string>()
  for (const [, name = ''] of text.matchAll(/^[ \t]*gem[ \t(]+["']([^"'\n]+)["']/gm)) runtime.add(name)
  return new Map([['runtime', runtime]])
}

/** The dependencies of the project, without those of plug-ins, managed versions and exclusions. */
export function declaredInPom(text: string): Declared {
  if (!/<project[\s>]/.test(text)) throw new Error('no <project> element')
  // Tags without their attributes.
  let xml = without(text, '<!--', '-->').replace(/<(\w+)\s[^<>]*>/g, (tag, name) =>
    tag.endsWith('/>') ? '' : `<${name}>`,
  )
  for (const name of ['dependencyManagement', 'exclusions', 'build', 'profiles', 'reporting']) {
    xml = without(xml, `<${name}>`, `</${name}>`)
  }
  const runtime = new Set<string>()
  const test = new Set<string>()
  for (const dependency of between(xml, '<dependency>', '</dependency>')) {
    const field = (name: string) => between(dependency, `<${name}>`, `</${name}>`).next().value?.trim()
    const group = field('groupId')
    const artifact = field('artifactId')
    if (artifact === undefined) continue
    const name = group === undefined ? artifact : `${group}:${artifact}`
    ;(field('scope') === 'test' ? test : runtime).add(name)
  }
  return new Map([
    ['runtime', runtime],
    ['development', test],
  ])
}

/** The texts between each opening mark and the next closing mark. */
function* between(text: string, opening: string, closing: string): Generator<string, undefined> {
  for (let at = 0; ; ) {
    const start = text.indexOf(opening, at)
    const end = start < 0 ? -1 : text.indexOf(closing, start + opening.length)
    if (end < 0) return undefined
    yield text.slice(start + opening.length, end)
    at = end + closing.length
  }
}

function without(text: string, opening: string, closing: string): string {
  let kept = ''
  let at = 0
  for (;;) {
    const start = text.indexOf(opening, at)
    const end = start < 0 ? -1 : text.indexOf(closing, start + opening.length)
    if (end < 0) return kept + text.slice(at)
    kept += text.slice(at, start)
    at = end + closing.length
  }
}

const gradleLine = /^[ \t]*(\w+)[ \t(]+(?:(?:platform|enforcedPlatform)\()?["']([\w.-]+:[\w.-]+)(?::[^"'\n]*)?["']/gm
const gradleMapLine =
  /^[ \t]*(\w+)[ \t(]+group[ \t]*[:=][ \t]*["']([\w.-]+)["'],[ \t]*name[ \t]*[:=][ \t]*["']([\w.-]+)["']/gm

/** `implementation 'group:artifact:version'`, `implementation group: 'group', name: 'artifact'` and similar forms. */
export function declaredInGradle(text: string): Declared {
  const runtime = new Set<string>()
  const development = new Set<string>()
  for (const [, configuration = '', first = '', second] of [
    ...text.matchAll(gradleLine),
    ...text.matchAll(gradleMapLine),
  ]) {
    const name = second === undefined ? first : `${first}:${second}`
    if (/^(classpath|id|exclude|kotlin)$/.test(configuration)) continue
    ;(/^(test|androidTest)/.test(configuration) ? development : runtime).add(name)
  }
  return new Map([
    ['runtime', runtime],
    ['development', development],
  ])
}
