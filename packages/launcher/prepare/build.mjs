import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { captureChild } from '../process/capture-child.mjs'
import { BUNDLED, bundleOf } from '../programs.mjs'
import { configFingerprint, sourceFingerprint, workspaceFolders } from './fingerprint.mjs'
import { LaunchError } from './launch-error.mjs'
import { withLock } from './lock.mjs'
import { readStamp, stampPath, writeStamp } from './stamp.mjs'

/** Projects without output: Node runs their sources, and the compiler only checks them. */
const CHECKED_ONLY = ['test', 'bench', 'packages/launcher', 'examples/demo']
/** Projects of which and by which nothing is bundled. */
const UNBUNDLED = ['test', 'bench', 'examples/demo']

/** @typedef {'product' | 'everything'} BuildScope `everything` also compiles, to check all types */

/**
 * Bundles the programs, unless the scope is unchanged since its last successful build.
 *
 * @param {string} root
 * @param {string} node
 * @param {BuildScope} scope
 * @param {(line: string) => void} tell
 * @returns {Promise<void>} rejects with the errors of the bundler or the compiler
 */
export async function ensureBuilt(root, node, scope, tell) {
  if (isBuilt(root, scope)) return
  const onWait = (/** @type {number} */ pid) => tell(`waiting for process ${pid}, which builds`)
  await withLock(stampPath(root, 'build.lock'), () => build(root, node, scope, tell), {
    onWait,
    pollMs: 50,
  })
}

/**
 * @param {string} root
 * @param {BuildScope} scope
 */
function isBuilt(root, scope) {
  // A stamp of everything is valid for the product too, as long as no source has changed since.
  const scopes = /** @type {BuildScope[]} */ (
    scope === 'product' ? ['product', 'everything'] : [scope]
  )
  const config = configFingerprint(root)
  return scopes.some((candidate) => {
    const stamp = readStamp(root, `build-${candidate}.json`)
    return stamp['config'] === config && stamp['sources'] === sourcesOf(root, candidate)
  })
}

/**
 * @param {string} root
 * @param {string} node
 * @param {BuildScope} scope
 * @param {(line: string) => void} tell
 */
async function build(root, node, scope, tell) {
  if (isBuilt(root, scope)) return
  const config = configFingerprint(root)
  // Taken before compiling, so that the next run sees an edit made meanwhile.
  const sources = sourcesOf(root, scope)
  const known = readStamp(root, `build-${scope}.json`)['config']
  if (known === undefined) tell('building, about 5 s the first time')
  if (scope === 'everything') {
    const args = [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b']
    // TypeScript 7.0.2: after an edit of an extended tsconfig, `-b` reports fixed errors again.
    if (known !== config) args.push('--force')
    const run = await captureChild(node, args, { cwd: root, env: process.env })
    if (run.code !== 0) throw new LaunchError(`the build failed\n${run.output.trimEnd()}`)
  }
  const bundling = await captureChild(
    node,
    [join(root, 'packages', 'launcher', 'prepare', 'bundle.mjs'), root],
    { cwd: root, env: process.env },
  )
  if (bundling.code !== 0)
    throw new LaunchError(`the programs cannot be bundled\n${bundling.output.trimEnd()}`)
  writeStamp(root, `build-${scope}.json`, { config, sources: sourcesOf(root, scope, sources) })
}

/**
 * Fingerprint of the scope's sources, with the projects whose output is missing.
 *
 * @param {string} root
 * @param {BuildScope} scope
 * @param {string} [known] an earlier result, whose fingerprint is used again
 */
function sourcesOf(root, scope, known) {
  const projects = workspaceFolders(root).filter(
    (folder) => folder !== '.' && (scope === 'everything' || !UNBUNDLED.includes(folder)),
  )
  const sources = known?.split(' ')[0] ?? sourceFingerprint(root, projects)
  const compiled = scope === 'everything' ? projects.filter(emits) : []
  const missing = compiled.filter(
    (folder) => !existsSync(join(root, folder, 'dist', 'tsconfig.tsbuildinfo')),
  )
  const unbundled = BUNDLED.map(bundleOf).filter((file) => !existsSync(join(root, file)))
  return `${sources} ${[...missing, ...unbundled].join(',')}`.trimEnd()
}

/** @param {string} folder */
function emits(folder) {
  return !CHECKED_ONLY.includes(folder)
}
