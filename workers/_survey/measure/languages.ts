/**
 * Duty: recognise the language of a file by its name, or by its first line if the name says nothing. Only text has a language: a file with a zero
 * byte near its beginning is binary, whatever its name is.
 */
import type { BytePath } from '../tree/path.ts'

export const otherText = 'Other text'
export const binary = 'Binary'

/** Each language with its extensions and, after "|", whole names of files. All in lower case. */
const table: Readonly<Record<string, string>> = {
  Ada: 'adb ads',
  Assembly: 'asm s',
  Astro: 'astro',
  Awk: 'awk gawk',
  Batch: 'bat cmd',
  C: 'c',
  'C header': 'h',
  'C#': 'cs csx',
  'C++': 'cc cpp cxx c++ hh hpp hxx inl ipp tpp',
  Clojure: 'clj cljs cljc edn',
  CMake: 'cmake | cmakelists.txt',
  COBOL: 'cob cbl cpy',
  CoffeeScript: 'coffee',
  'Common Lisp': 'lisp lsp cl asd',
  Crystal: 'cr',
  CSS: 'css',
  CUDA: 'cu cuh',
  D: 'd di',
  Dart: 'dart',
  'Device tree': 'dts dtsi',
  Dockerfile: 'dockerfile | dockerfile containerfile',
  Elixir: 'ex exs',
  Elm: 'elm',
  'Emacs Lisp': 'el',
  Erlang: 'erl hrl',
  'F#': 'fs fsi fsx',
  Fortran: 'f for f77 f90 f95 f03 f08',
  GLSL: 'glsl vert frag geom comp',
  Go: 'go',
  GraphQL: 'graphql gql',
  Groovy: 'groovy gradle gvy | jenkinsfile',
  Handlebars: 'hbs handlebars',
  Haskell: 'hs lhs',
  HCL: 'tf tfvars hcl',
  HTML: 'html htm xhtml',
  Ini: 'ini cfg properties | .editorconfig',
  Java: 'java',
  JavaScript: 'js mjs cjs jsx',
  JSON: 'json json5 jsonc jsonl ndjson geojson webmanifest',
  Julia: 'jl',
  'Jupyter notebook': 'ipynb',
  Kotlin: 'kt kts',
  LaTeX: 'tex sty cls bib ltx',
  Less: 'less',
  Liquid: 'liquid',
  Lua: 'lua',
  M4: 'm4 | configure.ac configure.in',
  Make: 'mk mak make | makefile gnumakefile makefile.am makefile.in',
  Markdown: 'md markdown mdx mkd',
  Meson: '| meson.build meson_options.txt',
  Nim: 'nim nims nimble',
  Nix: 'nix',
  'Objective-C': 'm mm',
  OCaml: 'ml mli mll mly',
  Pascal: 'pas pp dpr lpr',
  Perl: 'pl pm pod t',
  PHP: 'php php3 php4 php5 phtml',
  PostScript: 'ps eps',
  PowerShell: 'ps1 psm1 psd1',
  Prolog: 'pro prolog',
  'Protocol Buffers': 'proto',
  Pug: 'pug jade',
  Puppet: 'epp',
  Python: 'py pyi pyw pyx pxd | sconstruct sconscript wscript',
  QML: 'qml',
  R: 'r rmd',
  Racket: 'rkt rktd',
  ReStructuredText: 'rst',
  Roff: 'man mdoc roff',
  Ruby: 'rb rake gemspec ru erb | gemfile rakefile vagrantfile podfile fastfile brewfile',
  Rust: 'rs',
  Sass: 'sass scss',
  Scala: 'scala sc sbt',
  Scheme: 'scm ss sld',
  Sed: 'sed',
  Shell: 'sh bash zsh fish ksh csh tcsh | .bashrc .profile .zshrc .bash_profile',
  Smalltalk: 'st',
  Solidity: 'sol',
  SQL: 'sql psql plsql ddl',
  Starlark: 'bzl star | build.bazel workspace.bazel',
  Stylus: 'styl',
  Svelte: 'svelte',
  SVG: 'svg',
  Swift: 'swift',
  SystemVerilog: 'sv svh',
  Tcl: 'tcl tk itcl',
  TOML: 'toml | cargo.lock poetry.lock pipfile',
  TypeScript: 'ts tsx mts cts',
  Vala: 'vala vapi',
  Verilog: 'v vh',
  VHDL: 'vhd vhdl',
  'Vim script': 'vim | .vimrc vimrc',
  'Visual Basic': 'vb vbs bas frm',
  Vue: 'vue',
  WebAssembly: 'wat wast',
  WGSL: 'wgsl',
  XML: 'xml xsd xsl xslt dtd rng plist wsdl csproj vbproj fsproj resx ui',
  YAML: 'yaml yml | .clang-format .clang-tidy',
  Zig: 'zig zon',
}

const interpreters: Readonly<Record<string, string>> = {
  sh: 'Shell',
  bash: 'Shell',
  dash: 'Shell',
  zsh: 'Shell',
  ksh: 'Shell',
  fish: 'Shell',
  python: 'Python',
  perl: 'Perl',
  ruby: 'Ruby',
  node: 'JavaScript',
  deno: 'TypeScript',
  bun: 'TypeScript',
  php: 'PHP',
  lua: 'Lua',
  awk: 'Awk',
  gawk: 'Awk',
  mawk: 'Awk',
  sed: 'Sed',
  tclsh: 'Tcl',
  wish: 'Tcl',
  make: 'Make',
  rscript: 'R',
  guile: 'Scheme',
  racket: 'Racket',
  ocaml: 'OCaml',
  groovy: 'Groovy',
  julia: 'Julia',
  elixir: 'Elixir',
  escript: 'Erlang',
  pwsh: 'PowerShell',
}

/** How many bytes at the beginning of a file are searched for a zero byte. Git uses the same number. */
export const sniffBytes = 8_000

const byExtension = new Map<string, string>()
const byName = new Map<string, string>()
for (const [language, names] of Object.entries(table)) {
  const [extensions = '', files = ''] = names.split('|')
  for (const extension of words(extensions)) byExtension.set(extension, language)
  for (const file of words(files)) byName.set(file, language)
}

export function languageOfName(name: BytePath): string | null {
  const lower = name.toLowerCase()
  const named = byName.get(lower)
  if (named !== undefined) return named
  const dot = lower.lastIndexOf('.')
  // A leading dot means a hidden file and not an extension.
  return dot > 0 ? (byExtension.get(lower.slice(dot + 1)) ?? null) : null
}

/** The row of the report to which a file belongs, by its name and its first bytes. */
export function languageOf(name: BytePath, head: Buffer): string {
  if (head.subarray(0, sniffBytes).includes(0)) return binary
  return languageOfName(name) ?? languageOfFirstBytes(name, head) ?? otherText
}

export function isLanguage(row: string): boolean {
  return row !== otherText && row !== binary
}

/** `#!/usr/bin/env -S python3.12 -u` means Python. `ls.1` is a manual page only if its content begins like one; `log.1` is not. */
function languageOfFirstBytes(name: BytePath, head: Buffer): string | null {
  if (/\.[1-9]$/.test(name) && (head[0] === 0x2e || head[0] === 0x27)) return 'Roff'
  if (head[0] !== 0x23 || head[1] !== 0x21) return null
  const line = head.toString('latin1', 2, 200).split('\n', 1)[0] ?? ''
  const [command = '', ...args] = words(line)
  const program = baseName(command) === 'env' ? args.find((arg) => !arg.startsWith('-') && !arg.includes('=')) : command
  if (program === undefined) return null
  const interpreter = baseName(program)
    .replace(/[-.\d]+$/, '')
    .toLowerCase()
  // The text may be a name like "constructor", which every object has.
  return Object.hasOwn(interpreters, interpreter) ? (interpreters[interpreter] ?? null) : null
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function words(text: string): string[] {
  return text.trim().split(/\s+/).filter(Boolean)
}
