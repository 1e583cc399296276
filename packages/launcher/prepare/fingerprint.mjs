import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Folders of the workspace that hold a package, relative to `root`, sorted; the root is `.`.
 *
 * @param {string} root
 * @returns {string[]}
 */
export function workspaceFolders(root) {
  const top = foldersIn(root).filter((name) => name !== 'node_modules' && !name.startsWith('.'))
  const nested = ['packages', 'examples']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => foldersIn(join(root, folder)).map((name) => `${folder}/${name}`))
  const all = ['.', ...top, ...nested]
  return all.filter((folder) => existsSync(join(root, folder, 'package.json'))).sort()
}

/**
 * Changes whenever an installation could have another result.
 *
 * @param {string} root
 * @param {string} installer such as `pnpm@12.21.0`
 * @returns {string}
 */
export function installFingerprint(root, installer) {
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml']
  files.push(...workspaceFolders(root).map((folder) => join(folder, 'package.json')))
  return hashOf([installer, process.platform, process.arch, ...contentsOf(root, files)])
}

/**
 * Changes whenever the compiler or its settings change.
 *
 * @param {string} root
 * @returns {string}
 */
export function configFingerprint(root) {
  const files = [
    'pnpm-lock.yaml',
    'vitest.config.ts',
    ...workspaceFolders(root).map((folder) => join(folder, 'tsconfig.json')),
  ]
  return hashOf(contentsOf(root, files))
}

/**
 * Changes when a source of the given projects is edited, added, moved or removed. Reads only names,
 * sizes and times, which takes a few milliseconds for a whole checkout.
 *
 * @param {string} root
 * @param {readonly string[]} folders
 * @returns {string}
 */
export function sourceFingerprint(root, folders) {
  /** @type {string[]} */
  const found = []
  for (const folder of folders) {
    const files = /** @type {string[]} */ ([])
    collectSources(join(root, folder), files)
    for (const file of files) {
      const { size, mtimeMs } = statSync(file)
      found.push(`${file}\0${size}\0${mtimeMs}`)
    }
  }
  return hashOf(found.sort())
}

/**
 * @param {string} folder
 * @param {string[]} into
 */
function collectSources(folder, into) {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && entry.name !== 'dist') collectSources(path, into)
    } else if (/\.(?:ts|mts|mjs|json)$/.test(entry.name)) into.push(path)
  }
}

/** @param {string} folder */
function foldersIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

/**
 * @param {string} root
 * @param {string[]} files
 */
function contentsOf(root, files) {
  return files.map((file) => {
    const path = join(root, file)
    return `${file}\0${existsSync(path) ? readFileSync(path, 'utf8') : ''}`
  })
}

/** @param {string[]} parts */
function hashOf(parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:${part}\n`)
  return hash.digest('hex')
}
