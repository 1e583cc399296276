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
  readonly dependencies: readonly string[]
}

const PACKAGE_FOLDERS = ['packages', 'server', 'agent', 'bench', 'test'] as const

/** Every TypeScript and JavaScript source below `root`, without what is installed or generated. */
export function readSources(root: string): SourceFile[] {
  const paths = PACKAGE_FOLDERS.flatMap((folder) => listFiles(root, folder))
  return paths
    .filter((path) => /\.(?:ts|mts|mjs|js)$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

export function readPackages(root: string): WorkspacePackage[] {
  const nested = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
  return [...nested, 'server', 'agent', 'bench', 'test']
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => readPackage(root, folder))
}

function readPackage(root: string, folder: string): WorkspacePackage {
  const manifest: unknown = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const { name, dependencies } = manifest as { name: string; dependencies?: object }
  return { folder, name, dependencies: Object.keys(dependencies ?? {}) }
}

function listFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (!entry.isDirectory()) return [path]
    return ['node_modules', 'dist'].includes(entry.name) ? [] : listFiles(root, path)
  })
}
