import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AGENT } from './architecture/agent-floors.ts'
import { ANALYSIS } from './architecture/analysis-floors.ts'
import { CLI } from './architecture/cli-floors.ts'
import { longContainers, strayBags } from './architecture/composition.ts'
import { CORE } from './architecture/core-floors.ts'
import {
  deadLinks,
  deadPaths,
  longDocuments,
  readDocuments,
  unlimitedDocuments,
} from './architecture/documents.ts'
import { wrongFloors, type Building } from './architecture/floors.ts'
import {
  importCycles,
  strayTsyringe,
  strayTypeScript,
  undeclaredImports,
  wrongArrows,
  wrongDependencies,
} from './architecture/import-rules.ts'
import {
  bannedNames,
  genderedWords,
  longLines,
  longSentences,
  namelessComments,
  sentencesWithoutSubject,
  vagueComments,
} from './architecture/language.ts'
import { untestedInvariants } from './architecture/invariants.ts'
import { straySizes, strayStarts } from './architecture/lanes.ts'
import { strayMechanisms } from './architecture/mechanisms.ts'
import { SERVER } from './architecture/server-floors.ts'
import {
  emptyNames,
  impurities,
  strayEnvironment,
  strayTopLevel,
  topLevelVariables,
} from './architecture/source-rules.ts'
import { wrongSizes } from './architecture/size.ts'
import { readPackages, readSources, type SourceFile } from './architecture/workspace.ts'

const root = join(import.meta.dirname, '..')
const files = readSources(root)
const packages = readPackages(root)
const documents = readDocuments(root)

/**
 * A sample that breaks a rule. The text is joined from pieces, so that this file breaks no rule.
 */
function sample(path: string, ...text: string[]): SourceFile[] {
  return [{ path, text: text.join('') }]
}

/** A test that reaches the built programs through a fixture, if `fixture` is `fixture.ts`. */
function byFixture(fixture: string): SourceFile[] {
  return [
    { path: 'test/cli/a.test.ts', text: `import { run } from './${fixture}'` },
    { path: 'test/cli/fixture.ts', text: `import { BUILT_CLI } from '../built-programs.ts'` },
    { path: 'test/cli/other.ts', text: `import { other } from './another.ts'` },
  ]
}

const HOUSE: Building = {
  root: 'house/',
  floors: [['hall', 'study'], ['hall/stairs'], ['cellar']],
}

const always = () => true

/** A page of invariants, each with its cell of tests. */
function invariants(...cells: string[]): string {
  const rows = cells.map((cell) => `| a | ${cell} |\n`).join('')
  return `## Invariants\n\n| Invariant | Test |\n| --- | --- |\n${rows}\n## Words\n`
}

/** A document beside `docs/a.md` and `server/src/main.ts`. */
function page(text: string) {
  const paths = ['README.md', 'docs', 'docs/a.md', 'server', 'server/src', 'server/src/main.ts']
  const files = [
    { path: 'README.md', text },
    { path: 'docs/a.md', text: '# The name' },
  ]
  return { files, paths: new Set(paths) }
}

function one(folder: string, ...dependencies: string[]) {
  return [{ folder, name: `@palisade/${folder}`, dependencies }]
}

describe('the workspace', () => {
  it('is read by these rules', () => {
    expect(packages.map((each) => each.folder)).toEqual(
      expect.arrayContaining(['packages/policy-core', 'packages/protocol', 'server', 'agent']),
    )
    expect(files.map((file) => file.path)).toContain('packages/policy-core/src/index.ts')
  })

  it('has manifests that depend downwards only', () => {
    const why = 'a part can be replaced only if the parts below do not depend on it'
    expect(wrongDependencies(packages), why).toEqual([])
  })

  it('has sources that import downwards only, by package name', () => {
    const why = 'server and agent meet on the wire; the evaluator knows neither'
    expect(wrongArrows(files), why).toEqual([])
  })

  it.each([AGENT, ANALYSIS, CLI, CORE, SERVER])(
    'has rooms in $root that import lower floors only',
    (building) => {
      const why = 'a room can be understood, tested and moved with the rooms below it'
      expect(wrongFloors(building, files), why).toEqual([])
    },
  )

  it('has a fast lane of tests that start nothing', () => {
    const why = 'a test that starts a process or a thread is named *.process.test.ts'
    expect(strayStarts(files), why).toEqual([])
  })

  it('has laws that the full lane finds by their names', () => {
    const why = 'a test whose size differs between the lanes is named *.property.test.ts'
    expect(straySizes(files), why).toEqual([])
  })

  it('tests every invariant in the fast lane', () => {
    const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    const exists = (path: string) => existsSync(join(root, path))
    expect(untestedInvariants(architecture, exists)).toEqual([])
  })

  it('declares every package that it imports', () => {
    const why = 'an undeclared package may be missing, and escapes the review of licence and age'
    expect(undeclaredImports(files, packages), why).toEqual([])
  })

  it('has no cycles among its files', () => {
    const why = 'a file in a cycle cannot be understood, tested or moved alone'
    expect(importCycles(files), why).toEqual([])
  })

  it('composes with tsyringe in the two containers only', () => {
    const why = 'a collaborator that arrives as an argument is visible'
    expect(strayTsyringe(files), why).toEqual([])
  })

  it('composes with named collaborators', () => {
    const why = 'a reader sees who gets what, and the compiler refuses what a part does not take'
    expect(strayBags(files), why).toEqual([])
  })

  it('has short composing files', () => {
    const why = 'a container reads like a table of contents'
    expect(longContainers(files), why).toEqual([])
  })

  it('has queues, caches, limiters and threads of the server in the rooms for all', () => {
    const why = 'each one of its own is one more that every reader has to know'
    expect(strayMechanisms(files), why).toEqual([])
  })

  it('has parts of bounded size', () => {
    const why = 'a part grows only with a reason in the commit'
    expect(wrongSizes(files), why).toEqual([])
  })

  it('prepares a machine in JavaScript alone', () => {
    const why = 'a fresh machine may have Node 18, which does not strip types'
    expect(strayTypeScript(files), why).toEqual([])
  })

  it('keeps policy-core and policy-analysis pure', () => {
    const why = 'one evaluator runs in server, agent, command and browser and answers alike'
    expect(impurities(files), why).toEqual([])
  })

  it('has no variables at the top level of a module', () => {
    const why = 'hidden state of a module is shared by all of its importers'
    expect(topLevelVariables(files), why).toEqual([])
  })

  it('reads the environment at its edges only', () => {
    const why = 'settings are checked once, and all problems are reported together'
    expect(strayEnvironment(files), why).toEqual([])
  })

  it('has no files or folders with generic names', () => {
    const why = 'a file with a generic name collects unrelated code'
    expect(emptyNames(files.map((file) => file.path)), why).toEqual([])
  })

  it('has only listed entries at its top level', () => {
    const why = 'a newcomer reads the top level first'
    expect(strayTopLevel(readdirSync(root)), why).toEqual([])
  })

  it('has documents without dead links', () => {
    const why = 'a reader follows a link once'
    expect(deadLinks(documents), why).toEqual([])
  })

  it('has documents that name paths of this repository only', () => {
    const why = 'a path in prose does not move with its file'
    expect(deadPaths(documents), why).toEqual([])
  })

  it('has pages of bounded length', () => {
    const why = 'a reader leaves a long page; say a limit once, and link it'
    expect(longDocuments(documents), why).toEqual([])
    expect(unlimitedDocuments(documents), why).toEqual([])
  })

  it('has comments that name their subject', () => {
    const why = 'a relative clause without a noun leaves the reader to guess it'
    expect(vagueComments(files), why).toEqual([])
  })

  it('has names without words of many meanings', () => {
    const why = 'a reader finds a thing by its noun, and one word means one thing'
    expect(bannedNames(files), why).toEqual([])
  })

  it('has doc comments that name what they are on', () => {
    const why = 'an editor shows a doc comment alone, without the lines above it'
    expect(namelessComments(files), why).toEqual([])
  })

  it('speaks of people as they', () => {
    const why = 'a reader, a user and a caller may be anyone'
    expect(genderedWords([...files, ...documents.files]), why).toEqual([])
  })

  it('has no line beyond a hundred columns', () => {
    const why = 'the formatter leaves comments and literals alone'
    expect(longLines(files), why).toEqual([])
  })

  it('has documents whose sentences have a subject', () => {
    const why = 'a sentence that begins with its object is read twice'
    expect(sentencesWithoutSubject(documents.files), why).toEqual([])
  })

  it('has documents of short sentences', () => {
    const why = 'one fact a sentence can be found, checked and translated'
    expect(longSentences(documents.files), why).toEqual([])
  })
})

describe('each rule can fail', () => {
  it.each<[string, readonly string[]]>([
    ['upward dependency', wrongDependencies(one('server', '@palisade/agent'))],
    [
      'dependency of the evaluator',
      wrongDependencies(one('packages/policy-core', '@palisade/client')),
    ],
    ['upward import', wrongArrows(sample('agent/src/a.ts', `import x from '@palisade/server'`))],
    ['cache of a room', strayMechanisms(sample('server/src/fleet/a.ts', 'new ', 'LRUCache()'))],
    ['queue', strayMechanisms(sample('server/src/fleet/a.ts', 'function createAQ', 'ueue() {}'))],
    ['growing part', wrongSizes(sample('a/b.ts', '1\n2\n3\n'), { 'a/': 2 })],
    ['bound that holds nothing', wrongSizes(sample('a/b.ts', '1\n'), { 'a/': 2 })],
    ['import of test', wrongArrows(sample('server/src/a.ts', `import x from '../../test/b.ts'`))],
    [
      'deep import',
      wrongArrows(sample('agent/src/a.ts', `export * from '@palisade/client/src/a.ts'`)),
    ],
    [
      'internals of the evaluator',
      wrongArrows(sample('server/src/a.ts', `import { a } from '@palisade/policy-core/internal'`)),
    ],
    [
      'analysis in the agent',
      wrongArrows(sample('agent/src/a.ts', `import { lint } from '@palisade/policy-analysis'`)),
    ],
    [
      'type import',
      wrongArrows(sample('agent/src/a.ts', `import type {\n  X,\n} from '@palisade/cli'`)),
    ],
    [
      'example that imports a part',
      wrongArrows(sample('examples/demo/a.ts', `import x from '../../server/src/b.ts'`)),
    ],
    ['dynamic import', wrongArrows(sample('agent/src/a.ts', `await import('@palisade/cli')`))],
    ['floor', wrongFloors(HOUSE, sample('house/cellar/a.ts', `import '../hall/b.ts'`))],
    ['same floor', wrongFloors(HOUSE, sample('house/hall/a.ts', `import x from '../study/b.ts'`))],
    [
      'floor of a room within a room',
      wrongFloors(HOUSE, sample('house/hall/stairs/a.ts', `import x from '../b.ts'`)),
    ],
    [
      'process in the fast lane',
      strayStarts(sample('test/agent/a.test.ts', `import { spawn } from 'node:child_`, `process'`)),
    ],
    [
      'thread in the fast lane',
      strayStarts(sample('test/a.test.ts', `import { x, Worker } from 'node:worker_threads'`)),
    ],
    ['built program in the fast lane', strayStarts(byFixture('fixture.ts'))],
    [
      'law without its name',
      straySizes([
        { path: 'test/a.test.ts', text: `import { casesOfRun } from './lanes/run-size.ts'` },
        { path: 'test/lanes/run-size.ts', text: '' },
      ]),
    ],
    ['no invariants', untestedInvariants('# Architecture\n', always)],
    ['invariant without a test', untestedInvariants(invariants('`a.test.ts`', 'a'), always)],
    ['invariant of the full lane', untestedInvariants(invariants('`a.process.test.ts`'), always)],
    ['missing test', untestedInvariants(invariants('`a.test.ts`'), () => false)],
    ['loose file', wrongFloors(HOUSE, sample('house/a.ts', 'export {}'))],
    [
      'undeclared',
      undeclaredImports(sample('server/src/a.ts', `import 'pg'`), one('server', 'zod')),
    ],
    ['tsyringe', strayTsyringe(sample('server/src/a.ts', `import { container } from 'tsyringe'`))],
    ['bag in a container', strayBags(sample('server/src/container.ts', 'f({ a, ', '...shared })'))],
    ['bag of a member', strayBags(sample('server/src/fleet/compose-a.ts', 'f({ ...a.b })'))],
    [
      'bag of the rest',
      strayBags(sample('server/src/compose-a.ts', 'const { a, ...rest } = deps')),
    ],
    ['bag elsewhere', strayBags(sample('server/src/fleet/a.ts', 'f({ ...deps, a })'))],
    ['long container', longContainers(sample('server/src/container.ts', 'a\n'.repeat(151)))],
    ['types', strayTypeScript(sample('packages/launcher/a.mjs', `import x from './b.ts'`))],
    [
      'node',
      impurities(sample('packages/policy-core/src/a.ts', `import { readFileSync } from 'node:fs'`)),
    ],
    ['clock', impurities(sample('packages/policy-core/src/a.ts', 'const now = Date.now()'))],
    ['clock of an analysis', impurities(sample('packages/policy-analysis/src/a.ts', 'Date.now()'))],
    ['randomness', impurities(sample('packages/policy-core/src/a.ts', 'Math.random()'))],
    ['console', impurities(sample('packages/policy-core/src/a.ts', 'console.log(1)'))],
    ['network', impurities(sample('packages/policy-core/src/a.ts', 'await fetch(url)'))],
    ['timer', impurities(sample('packages/policy-core/src/a.ts', 'setTimeout(f, 1)'))],
    ['variable', topLevelVariables(sample('agent/src/a.ts', 'const a = 1\n', 'let count = 0\n'))],
    ['exported variable', topLevelVariables(sample('agent/src/a.ts', 'export let count = 0'))],
    ['environment', strayEnvironment(sample('agent/src/proxy/a.ts', 'process.env.HOME'))],
    ['folder', emptyNames(['server/src/utils/a.ts'])],
    ['file', emptyNames(['server/src/http-helpers.ts'])],
    ['top level', strayTopLevel(['scripts'])],
    ['link', deadLinks(page('[b](docs/b.md)'))],
    ['link to a heading', deadLinks(page('[a](docs/a.md#another-name)'))],
    ['link within a page', deadLinks(page('# A\n[b](#b)'))],
    ['path', deadPaths(page('`server/src/index.ts`'))],
    ['path of a folder', deadPaths(page('`server/store/`'))],
    ['name of a source', deadPaths(page('`src/index.ts`'))],
    ['long page', longDocuments(page('word '.repeat(1000)))],
    ['page without a limit', unlimitedDocuments(page(''))],
    ['what', vagueComments(sample('agent/src/a.ts', `// What is kept.\nkeep()`))],
    ['nothing', vagueComments(sample('agent/src/a.ts', `/** Keeps nothing. */`))],
    ['comment after a pattern', vagueComments(sample('agent/src/a.ts', `f(/'/) // what is kept`))],
    ['banned type', bannedNames(sample('agent/src/a.ts', `interface CgroupPlace {}`))],
    ['banned function', bannedNames(sample('agent/src/a.ts', `function judgePath() {}`))],
    ['banned plural', bannedNames(sample('agent/src/a.ts', `const inquiries = []`))],
    ['banned file', bannedNames(sample('packages/cli/src/place-rules.ts', ''))],
    ['same of', namelessComments(sample('agent/src/a.ts', `/** The same of any of four. */`))],
    ['of', namelessComments(sample('agent/src/a.ts', `/**`, `\n * Of all files.\n */`))],
    ['gender', genderedWords(sample('agent/src/a.ts', `// The user sees his policy.`))],
    ['gender in a document', genderedWords(sample('docs/a.md', 'The user sees his policy.'))],
    ['long line', longLines(sample('agent/src/a.ts', `// ${'word '.repeat(20)}`))],
    ['object first', sentencesWithoutSubject(page('It stops. What is kept is read.').files)],
    ['person first', sentencesWithoutSubject(page('- Whoever asks is told.').files)],
    ['long sentences', longSentences(page(`Word${' word'.repeat(15)}. `.repeat(10)).files)],
  ])('%s', (_name, violations) => {
    expect(violations).toHaveLength(1)
  })

  it('cycle of three files, named once', () => {
    const cycle = [
      { path: 'agent/src/a.ts', text: `import { b } from './b.ts'` },
      { path: 'agent/src/b.ts', text: `import { c } from './sub/c.ts'` },
      { path: 'agent/src/sub/c.ts', text: `import type { A } from '../a.ts'` },
    ]

    expect(importCycles(cycle)).toEqual([
      'agent/src/a.ts -> agent/src/b.ts -> agent/src/sub/c.ts -> agent/src/a.ts',
    ])
  })
})

describe('each rule accepts good code', () => {
  it.each<[string, readonly string[]]>([
    ['queue for all', strayMechanisms(sample('server/src/work/a.ts', 'new ', 'LRUCache()'))],
    ['part within its bound', wrongSizes(sample('a/b.ts', '1\n2\n'), { 'a/': 2 })],
    ['downward import', wrongArrows(sample('agent/src/a.ts', `import x from '@palisade/client'`))],
    [
      'internals of the evaluator in an analysis',
      wrongArrows(
        sample(
          'packages/policy-analysis/src/a.ts',
          `import { a } from '@palisade/policy-core/internal'`,
        ),
      ),
    ],
    [
      'process in the full lane',
      strayStarts(
        sample('test/a.process.test.ts', `import { spawn } from 'node:child_`, `process'`),
      ),
    ],
    [
      'type of a process',
      strayStarts(sample('test/a.test.ts', `import type { X } from 'node:child_`, `process'`)),
    ],
    [
      'channel without a thread',
      strayStarts(sample('test/a.test.ts', `import { MessageChannel } from 'node:worker_threads'`)),
    ],
    ['fixture that starts nothing', strayStarts(byFixture('other.ts'))],
    ['tested invariant', untestedInvariants(invariants('`a.test.ts`'), always)],
    ['lower floor', wrongFloors(HOUSE, sample('house/hall/a.ts', `import '../cellar/b.ts'`))],
    [
      'lower floor of a room within a room',
      wrongFloors(HOUSE, sample('house/study/a.ts', `import '../hall/stairs/b.ts'`)),
    ],
    ['own room', wrongFloors(HOUSE, sample('house/hall/a.ts', `import './desk/b.ts'`))],
    ['own file', wrongArrows(sample('agent/src/sync/a.ts', `import x from '../b.ts'`))],
    [
      'example that starts a machine',
      wrongArrows(sample('examples/demo/a.ts', `import x from '../../packages/launcher/b.ts'`)),
    ],
    [
      'container',
      strayTsyringe(sample('agent/src/container.ts', `import { container } from 'tsyringe'`)),
    ],
    ['list of a call', strayBags(sample('server/src/compose-a.ts', '[...a(b), ...c.d(e)]'))],
    ['spread of a value', strayBags(sample('server/src/fleet/a.ts', '({ ...policy, name })'))],
    ['short container', longContainers(sample('server/src/container.ts', 'a\n'.repeat(150)))],
    [
      'word in a comment',
      impurities(sample('packages/policy-core/src/a.ts', '// no Date here\nx()')),
    ],
    ['clock elsewhere', impurities(sample('agent/src/a.ts', 'Date.now()'))],
    [
      'variable inside',
      topLevelVariables(sample('agent/src/a.ts', 'function f() {\n  let a = 1\n}')),
    ],
    ['environment in the entry', strayEnvironment(sample('agent/src/main.ts', 'run(process.env)'))],
    [
      'word with shared letters',
      emptyNames(['server/src/commons-clause.ts', 'agent/src/utility.ts']),
    ],
    ['name with shared letters', bannedNames(sample('agent/src/a.ts', `class Placeholder {}`))],
    ['name of another part', bannedNames(sample('bench/src/a.ts', `interface RulePlace {}`))],
    ['same noun', namelessComments(sample('agent/src/a.ts', `/** The same bundle, compiled. */`))],
    ['link to a heading', deadLinks(page('[a](docs/a.md#the-name), [docs](docs/)'))],
    ['short page', longDocuments(page('word '.repeat(500)))],
    ['link elsewhere', deadLinks(page('[b](https://example.com/b.md)'))],
    ['link in code', deadLinks(page('`[b](b.md)`\n\n```\n[b](b.md)\n```\n'))],
    [
      'path',
      deadPaths(page('`server/src/main.ts`, `main.ts`, `server/src/`, `server/dist/main.js`')),
    ],
    ['code', deadPaths(page('`GET /server/x`, `and/or`'))],
    [
      'few of many words',
      vagueComments(sample('agent/src/a.ts', `// what ${'word '.repeat(400)}`)),
    ],
    ['words of a literal', vagueComments(sample('agent/src/a.ts', `f('// what', \`none\`)`))],
    ['quoted code', vagueComments(sample('agent/src/a.ts', '// Returns `nothing`.'))],
    ['address in a line', longLines(sample('agent/src/a.ts', `// ${'a/'.repeat(60)}`))],
    ['question', sentencesWithoutSubject(page('What does it keep?').files)],
    ['short sentences', longSentences(page(`Word${' word'.repeat(14)}. `.repeat(10)).files)],
  ])('%s', (_name, violations) => {
    expect(violations).toEqual([])
  })
})
