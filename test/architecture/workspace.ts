import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** One source file; `path` is relative to the root, with `/`. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** One package of the workspace. */
export interface WorkspacePackage {
  readonly folder: string
  readonly name: string
  /** Peers are among them. */
  readonly dependencies: readonly string[]
}

const PACKAGE_FOLDERS = ['packages', 'examples/demo', 'server', 'agent', 'bench', 'test'] as const

/** Folders without rules: installed, generated, or examples of users' code. */
const NOT_SOURCES = ['node_modules', 'dist', 'examples']

/** Every TypeScript and JavaScript source of the parts below `root`. */
export function readSources(root: string): SourceFile[] {
  const paths = PACKAGE_FOLDERS.flatMap((folder) => listFiles(root, folder))
  return paths
    .filter((path) => /\.(?:ts|mts|mjs|js)$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

export function readPackages(root: string): WorkspacePackage[] {
  const nested = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
  return [...nested, 'examples/demo', 'server', 'agent', 'bench', 'test']
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => readPackage(root, folder))
}

function readPackage(root: string, folder: string): WorkspacePackage {
  const manifest: unknown = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const { name, dependencies, peerDependencies } = manifest as {
    name: string
    dependencies?: object
    peerDependencies?: object
  }
  return { folder, name, dependencies: Object.keys({ ...dependencies, ...peerDependencies }) }
}

function listFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (!entry.isDirectory()) return [path]
    return NOT_SOURCES.includes(entry.name) ? [] : listFiles(root, path)
  })
}
