import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isManifest, readManifest } from '../../../workers/_survey/measure/manifests.ts'
import { fromText } from '../../../workers/_survey/tree/path.ts'
import { within } from '../../support/time/within.ts'

function declared(name: string, text: string): Record<string, string[]> | string {
  const reading = readManifest(fromText(name), text)
  if (reading.kind === 'broken') return `broken: ${reading.reason}`
  return Object.fromEntries(reading.groups.map(({ group, names }) => [group, names]))
}

describe('manifests', () => {
  test('manifests are recognised by name, except in folders of installed packages', () => {
    const isOne = (path: string) => isManifest(fromText(path))
    expect(
      ['package.json', 'a/Cargo.toml', 'go.mod', 'requirements-dev.txt', 'requirements.txt'].map(isOne),
    ).not.toContain(false)
    expect(
      ['a/package.jsonx', 'node_modules/a/package.json', 'x/vendor/y/go.mod', 'myrequirements.txt'].map(isOne),
    ).not.toContain(true)
  })

  test('manifests with carriage returns at the ends of lines are read alike', () => {
    const go = 'module m\n\nrequire (\n\t// a note\n\ta.b/c v1 // indirect\n\td.e/f v1 // a note\n)\n'
    expect(declared('go.mod', go)).toEqual({ runtime: ['d.e/f'], indirect: ['a.b/c'] })
    expect(declared('go.mod', go.replaceAll('\n', '\r\n'))).toEqual(declared('go.mod', go))
    expect(declared('requirements.txt', 'a # b\r\n# c\r\n')).toEqual({ runtime: ['a'] })
  })

  test.each([
    ['go.mod', `${'/'.repeat(500_000)}\rx`],
    ['requirements.txt', `${' #'.repeat(250_000)}\rx`],
  ])('a manifest %s with endless comments is read in linear time', (name, text) => {
    expect(within(() => declared(name, text))).toEqual({})
  })

  test('of npm', () => {
    const text =
      '\ufeff{"dependencies":{"b":"1","a":"2"},"devDependencies":{"c":"1"},"peerDependencies":{},"optionalDependencies":{"d":"1"}}'
    expect(declared('package.json', text)).toEqual({ runtime: ['a', 'b'], development: ['c'], optional: ['d'] })
    expect(declared('package.json', '{}')).toEqual({})
  })

  test('of Composer', () => {
    const text = '{"require":{"php":">=8","ext-json":"*","a/b":"1"},"require-dev":{"c/d":"1"}}'
    expect(declared('composer.json', text)).toEqual({ runtime: ['a/b'], development: ['c/d'] })
  })

  test('of Python', () => {
    expect(
      declared(
        'requirements.txt',
        '# no\na==1\nB[x]>=2 ; python_version<"3"\n-r other.txt\nc @ https://x/y\n\n-e git+https://h/r#egg=d\n',
      ),
    ).toEqual({
      runtime: ['B', 'a', 'c', 'd'],
    })
    const project = `
      [build-system]
      requires = ["hatchling"]
      [project]
      dependencies = ["httpx>=1", "rich"]
      optional-dependencies = { test = ["pytest"] }
      [dependency-groups]
      dev = ["ruff", { include-group = "x" }]
      [tool.poetry.dependencies]
      python = "^3"
      click = "*"`
    expect(declared('pyproject.toml', project)).toEqual({
      runtime: ['click', 'httpx', 'rich'],
      optional: ['pytest'],
      development: ['ruff'],
      build: ['hatchling'],
    })
  })

  test('of Cargo', () => {
    const text = `
      [dependencies]
      serde = { version = "1", features = ["derive"] }
      [dev-dependencies]
      quickcheck = "1"
      [target.'cfg(unix)'.dependencies]
      libc = "0.2"
      [workspace.dependencies]
      tokio = "1"`
    expect(declared('Cargo.toml', text)).toEqual({ runtime: ['libc', 'serde', 'tokio'], development: ['quickcheck'] })
  })

  test('of Go', () => {
    const text =
      'module m\nrequire a.b/c v1.0.0 // indirect\nrequire (\n\td.e/f v2.0.0\n\tg.h/i v0.1.0 // indirect\n)\nreplace x => y v1\n'
    expect(declared('go.mod', text)).toEqual({ runtime: ['d.e/f'], indirect: ['a.b/c', 'g.h/i'] })
  })

  test('manifests of Ruby, Maven and Gradle are read', () => {
    expect(declared('Gemfile', "gem 'rails', '~> 7'\n  gem(\"pg\")\n# gem 'no'\n")).toEqual({
      runtime: ['pg', 'rails'],
    })
    const pom = `<project><!-- <dependency><artifactId>no</artifactId></dependency> -->
      <dependencyManagement><dependencies><dependency><artifactId>managed</artifactId></dependency></dependencies></dependencyManagement>
      <dependencies>
        <dependency><groupId>g</groupId><artifactId>a</artifactId>
          <exclusions><exclusion><artifactId>x</artifactId></exclusion></exclusions></dependency>
        <dependency><groupId>j</groupId><artifactId>unit</artifactId><scope>test</scope></dependency>
      </dependencies></project>`
    expect(declared('pom.xml', pom)).toEqual({ runtime: ['g:a'], development: ['j:unit'] })
    const gradle =
      "dependencies {\n  implementation 'g:a:1.0'\n  testImplementation(\"j:unit:5\")\n  api platform('b:bom:1')\n}\n"
    expect(declared('build.gradle', gradle)).toEqual({ runtime: ['b:bom', 'g:a'], development: ['j:unit'] })
  })

  test('manifests in rare forms with the same meaning are read', () => {
    expect(declared('package.json', '{"dependencies":null,"devDependencies":[],"peerDependencies":{"p":"1"}}')).toEqual(
      {
        peer: ['p'],
      },
    )
    expect(declared('composer.json', '{"require":[],"require-dev":{"a/b":"1"}}')).toEqual({ development: ['a/b'] })
    const cargo =
      '[dev_dependencies]\na = "1"\n[build_dependencies]\nb = "1"\n[package.metadata]\nbig = 9007199254740993\n'
    expect(declared('Cargo.toml', cargo)).toEqual({ development: ['a'], build: ['b'] })
    expect(declared('go.mod', 'require(\r\n\t"a.b/c" v1\r\n)\r\nrequire `d.e/f` v1\r\n')).toEqual({
      runtime: ['a.b/c', 'd.e/f'],
    })
    const pom = `<project>
      <build combine.self="override"><plugins><dependency><artifactId>no</artifactId></dependency></plugins></build>
      <dependency ><artifactId\n>a</artifactId><scope >test</scope></dependency></project>`
    expect(declared('pom.xml', pom)).toEqual({ development: ['a'] })
    const gradle = `dependencies {
      compile group: 'g', name: 'a', version: '1'
      testCompile(group = "j", name = "unit")
      implementation(enforcedPlatform("b:bom:1"))
    }`
    expect(declared('build.gradle', gradle)).toEqual({ runtime: ['b:bom', 'g:a'], development: ['j:unit'] })
  })

  test('manifests that cannot be understood are broken, with a reason (MANIFEST-1)', () => {
    expect(declared('package.json', '{"dependencies":')).toMatch(/^broken: .*JSON/)
    expect(declared('package.json', '[]')).toBe('broken: the file is not a table of fields')
    expect(declared('package.json', '{"dependencies":["a"]}')).toMatch(/^broken: /)
    expect(declared('Cargo.toml', '[dependencies\n')).toMatch(/^broken: /)
    expect(declared('pom.xml', 'nothing')).toMatch(/^broken: /)
  })

  const name = fc.constantFrom(
    'package.json',
    'composer.json',
    'pyproject.toml',
    'Cargo.toml',
    'go.mod',
    'Gemfile',
    'pom.xml',
    'build.gradle',
    'requirements.txt',
  )

  test('manifests with any content never throw (MANIFEST-1)', () => {
    fc.assert(
      fc.property(name, fc.oneof(fc.string(), fc.json()), (file, text) => {
        expect(declared(file, text)).toBeDefined()
      }),
    )
  })

  test('manifests keep a few names and count all', () => {
    const text = JSON.stringify({
      dependencies: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`d${index}`, '1'])),
    })
    const reading = readManifest(fromText('package.json'), text)
    expect(reading).toMatchObject({ groups: [{ group: 'runtime', count: 500 }] })
    expect(JSON.stringify(reading).length).toBeLessThan(1_000)
  })

  test('manifests of all groups together keep a few names', () => {
    const some = (prefix: string) =>
      Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`${prefix}${index}`, '1']))
    const text = JSON.stringify({ dependencies: some('a'), devDependencies: some('b'), peerDependencies: some('c') })
    const reading = readManifest(fromText('package.json'), text)
    const groups = reading.kind === 'declared' ? reading.groups : []
    expect(groups.map(({ count, names }) => [count, names.length])).toEqual([
      [15, 15],
      [15, 5],
      [15, 0],
    ])
  })

  test.each([
    ['pom.xml', `<project>${'<dependency>'.repeat(80_000)}`],
    ['pom.xml', `<project>${'<a '.repeat(300_000)}`],
    ['pom.xml', `<project><a${' '.repeat(900_000)}`],
    ['build.gradle', `x group:'a',${' '.repeat(900_000)}`],
    ['pom.xml', `<project>${'<!--<build>'.repeat(90_000)}`],
    ['build.gradle', `${' '.repeat(500_000)}x ${'('.repeat(400_000)}`],
    ['Gemfile', `gem${' ('.repeat(400_000)}`],
    ['requirements.txt', `${'a'.repeat(900_000)}!`],
    ['go.mod', '// '.repeat(300_000)],
  ])('a hostile %s is read in linear time', (file, text) => {
    expect(within(() => declared(file, text))).toBeDefined()
  })
})
