import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokenLinks } from './broken-links.ts'
import { createProject, type Project } from './installed-package.ts'
import { PACKAGE, readManifest } from './package-files.ts'

const EXAMPLES = readdirSync(`${PACKAGE}examples`)
const readme = readFileSync(`${PACKAGE}README.md`, 'utf8')
const manifest = readManifest()

let project: Project
beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project.remove())

describe('the published package', () => {
  it('holds what was compiled from every source', () => {
    const sources = readdirSync(`${PACKAGE}src`, { recursive: true, encoding: 'utf8' })
    const compiled = sources
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `dist/${path.slice(0, -'.ts'.length)}`)
      .flatMap((path) => [`${path}.js`, `${path}.js.map`, `${path}.d.ts`])

    expect(compiled.filter((path) => !project.published.includes(path))).toEqual([])
  })

  it('holds the sources and documents besides, and nothing else', () => {
    const others = project.published.filter(
      (path) => !/^dist\/.*\.(?:js|js\.map|d\.ts)$|^src\/.*\.ts$/.test(path),
    )

    expect(new Set(others)).toEqual(
      new Set([
        'LICENSE',
        'README.md',
        'docs/api.md',
        'package.json',
        'vectors/README.md',
        'vectors/decisions.json',
        'vectors/releases.json',
      ]),
    )
  })

  it('has source maps that need no sources', () => {
    const map = JSON.parse(readFileSync(`${PACKAGE}dist/index.js.map`, 'utf8')) as object

    expect(map).toHaveProperty('sourcesContent')
  })

  it('names no file that is not published', () => {
    const targets = Object.values(manifest.exports)
      .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
      .map((target) => target.replace(/^\.\//, ''))

    const missing = targets.filter((target) => !project.published.some(isMatchOf(target)))

    expect(targets).not.toEqual([])
    expect(missing).toEqual([])
  })

  it('may be published as it is', () => {
    expect(manifest).not.toHaveProperty('private')
    expect(manifest).not.toHaveProperty('publishConfig')
  })

  it('gives its sources only by a name that no other tool asks for', () => {
    const entry = manifest.exports['.'] as Readonly<Record<string, string>>

    expect(Object.keys(entry)).toEqual(['palisade-source', 'types', 'default'])
    expect(entry['palisade-source']).toBe('./src/index.ts')
  })

  it('needs no other package and may be shaken', () => {
    expect(manifest).toMatchObject({ type: 'module', sideEffects: false, dependencies: {} })
  })

  it('has the licence of the repository', () => {
    const own = readFileSync(`${PACKAGE}LICENSE`, 'utf8')

    expect(own).toBe(readFileSync(`${PACKAGE}../../LICENSE`, 'utf8'))
    expect(manifest.license).toBe('Apache-2.0')
  })
})

describe('a program that installed it', () => {
  it.each([
    ['Node', { module: 'nodenext' }],
    ['a bundler', { module: 'esnext', moduleResolution: 'bundler' }],
    ['the strictest settings', { module: 'nodenext', exactOptionalPropertyTypes: true }],
  ])('finds the types: %s', async (_for, options) => {
    expect(await project.checkTypes(options)).toBe('')
  })

  it.each(EXAMPLES)('prints what the README says: %s', async (name) => {
    const code = readFileSync(`${PACKAGE}examples/${name}`, 'utf8')

    const output = await project.runExample(name)

    expect(readme).toContain(
      `\`\`\`ts\n// examples/${name}\n${code}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`,
    )
  })
})

describe('the documents', () => {
  it('show five examples and no other code', () => {
    const shown = [...readme.matchAll(/^```ts\n\/\/ examples\/(.*)$/gm)].map(([, name]) => name)

    expect(new Set(shown)).toEqual(new Set(EXAMPLES))
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(5)
    expect(readme.match(/^```ts$/gm)).toHaveLength(EXAMPLES.length)
  })

  it('explain patterns as the README of the repository does', () => {
    const [table] =
      /^\| Pattern [^]*?\n\n/m.exec(readFileSync(`${PACKAGE}../../README.md`, 'utf8')) ?? []

    expect(table).toContain('**.example.com')
    expect(readme).toContain(table)
  })

  it('link only to what is published', () => {
    const pages = project.published.filter((path) => path.endsWith('.md'))

    expect(brokenLinks(pages, (path) => readFileSync(PACKAGE + path, 'utf8'))).toEqual([])
    expect(brokenLinks(['a.md'], () => '# A\n[b](b.md) [c](#c) [a](#a) [a](a.md#a)')).toEqual([
      'a.md: b.md',
      'a.md: #c',
    ])
  })
})

/** Whether a path is one that an entry of `exports` stands for; `*` is any text. */
function isMatchOf(target: string): (path: string) => boolean {
  const [start = '', end] = target.split('*')
  return (path) =>
    end === undefined ? path === start : path.startsWith(start) && path.endsWith(end)
}
