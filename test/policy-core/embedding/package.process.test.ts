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
  it('contains the compiled output of every source', () => {
    const sources = readdirSync(`${PACKAGE}src`, { recursive: true, encoding: 'utf8' })
    const compiled = sources
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `dist/${path.slice(0, -'.ts'.length)}`)
      .flatMap((path) => [`${path}.js`, `${path}.js.map`, `${path}.d.ts`])

    expect(compiled.filter((path) => !project.published.includes(path))).toEqual([])
  })

  it('contains the sources and documents as well, and no other file', () => {
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

  it('has source maps with embedded sources', () => {
    const map = JSON.parse(readFileSync(`${PACKAGE}dist/index.js.map`, 'utf8')) as object

    expect(map).toHaveProperty('sourcesContent')
  })

  it('exports only published files', () => {
    const targets = Object.values(manifest.exports)
      .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
      .map((target) => target.replace(/^\.\//, ''))

    const missing = targets.filter((target) => !project.published.some(isMatchOf(target)))

    expect(targets).not.toEqual([])
    expect(missing).toEqual([])
  })

  it('can be published without changes', () => {
    expect(manifest).not.toHaveProperty('private')
    expect(manifest).not.toHaveProperty('publishConfig')
  })

  it('exports its sources only under its own condition', () => {
    const entry = manifest.exports['.'] as Readonly<Record<string, string>>

    expect(Object.keys(entry)).toEqual(['palisade-source', 'types', 'default'])
    expect(entry['palisade-source']).toBe('./src/index.ts')
  })

  it('has no dependencies and supports tree shaking', () => {
    expect(manifest).toMatchObject({ type: 'module', sideEffects: false, dependencies: {} })
  })

  it('has the licence of the repository', () => {
    const own = readFileSync(`${PACKAGE}LICENSE`, 'utf8')

    expect(own).toBe(readFileSync(`${PACKAGE}../../LICENSE`, 'utf8'))
    expect(manifest.license).toBe('Apache-2.0')
  })
})

describe('a program that installed the package', () => {
  it.each([
    ['Node', { module: 'nodenext' }],
    ['a bundler', { module: 'esnext', moduleResolution: 'bundler' }],
    ['the strictest settings', { module: 'nodenext', exactOptionalPropertyTypes: true }],
  ])('finds the types: %s', async (_for, options) => {
    expect(await project.checkTypes(options)).toBe('')
  })

  it.each(EXAMPLES)('prints the output shown in the README: %s', async (name) => {
    const code = readFileSync(`${PACKAGE}examples/${name}`, 'utf8')

    const output = await project.runExample(name)

    expect(readme).toContain(
      `\`\`\`ts\n// examples/${name}\n${code}\`\`\`\n\n\`\`\`text\n${output}\`\`\`\n`,
    )
  })
})

describe('the documents', () => {
  it('show every example and no other code', () => {
    const shown = [...readme.matchAll(/^```ts\n\/\/ examples\/(.*)$/gm)].map(([, name]) => name)

    expect(new Set(shown)).toEqual(new Set(EXAMPLES))
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(5)
    expect(readme.match(/^```ts$/gm)).toHaveLength(EXAMPLES.length)
  })

  it('explain patterns with the table of the repository README', () => {
    const [table] =
      /^\| Pattern [^]*?\n\n/m.exec(readFileSync(`${PACKAGE}../../README.md`, 'utf8')) ?? []

    expect(table).toContain('**.example.com')
    expect(readme).toContain(table)
  })

  it('link only to published files', () => {
    const pages = project.published.filter((path) => path.endsWith('.md'))

    expect(brokenLinks(pages, (path) => readFileSync(PACKAGE + path, 'utf8'))).toEqual([])
    expect(brokenLinks(['a.md'], () => '# A\n[b](b.md) [c](#c) [a](#a) [a](a.md#a)')).toEqual([
      'a.md: b.md',
      'a.md: #c',
    ])
  })
})

/** Returns a test for the paths of an `exports` target, where `*` is any text. */
function isMatchOf(target: string): (path: string) => boolean {
  const [start = '', end] = target.split('*')
  return (path) =>
    end === undefined ? path === start : path.startsWith(start) && path.endsWith(end)
}
