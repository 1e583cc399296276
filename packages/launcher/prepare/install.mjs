import { delimiter, join } from 'node:path'
import { captureChild } from '../process/capture-child.mjs'
import { installFingerprint } from './fingerprint.mjs'
import { LaunchError } from './launch-error.mjs'
import { withLock } from './lock.mjs'
import { readStamp, stampPath, writeStamp } from './stamp.mjs'

export const PNPM = 'pnpm@12.21.0'
const STAMP = 'install.json'

/**
 * Installs the packages of the lock file, unless they are installed. Later runs use no network.
 *
 * @param {string} root
 * @param {(line: string) => void} tell
 * @returns {Promise<void>}
 */
export async function ensureInstalled(root, tell) {
  if (isInstalled(root)) return
  const onWait = (/** @type {number} */ pid) => tell(`waiting for process ${pid}, which installs`)
  await withLock(stampPath(root, 'install.lock'), () => install(root, tell), { onWait })
}

/**
 * Installs an optional folder: reports a failure and continues.
 *
 * @param {string} folder
 * @param {(line: string) => void} tell
 * @returns {Promise<void>}
 */
export async function tryInstall(folder, tell) {
  try {
    await ensureInstalled(folder, tell)
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    tell(`continuing without \`${folder}\`: ${error.message}`)
  }
}

/** @param {string} root */
function isInstalled(root) {
  return readStamp(root, STAMP)['fingerprint'] === installFingerprint(root, PNPM)
}

/**
 * @param {string} root
 * @param {(line: string) => void} tell
 */
async function install(root, tell) {
  if (isInstalled(root)) return
  tell('installing packages, about 30 s the first time')
  const startedMs = Date.now()
  const fingerprint = installFingerprint(root, PNPM)
  const run = await captureChild('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], {
    cwd: root,
    env: { ...process.env, CI: 'true', PATH: pathWithoutOwnBinaries(root) },
  })
  if (run.code !== 0) throw new LaunchError(explainFailure(run))
  writeStamp(root, STAMP, { fingerprint })
  tell(`installed in ${Math.round((Date.now() - startedMs) / 1000)} s`)
}

/**
 * npm puts node_modules/.bin first, but the installation replaces the Node there while npx runs.
 *
 * @param {string} root
 */
function pathWithoutOwnBinaries(root) {
  const own = join(root, 'node_modules')
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.filter((folder) => !folder.startsWith(own)).join(delimiter)
}

/**
 * Says in one line why the installation failed, then shows the installer's output.
 *
 * @param {{ code: number, output: string, missing: boolean }} run
 * @returns {string}
 */
export function explainFailure(run) {
  if (run.missing) return 'npx was not found; install npm, which comes with Node, and run again'
  const excerpt = run.output.trim().split('\n').slice(-40).join('\n')
  return `${causeOf(run)}\n${excerpt}`.trimEnd()
}

/** @param {{ code: number, output: string }} run */
function causeOf({ code, output }) {
  if (/ERR_PNPM_OUTDATED_LOCKFILE/.test(output))
    return `pnpm-lock.yaml does not match the package.json files; run \`npx ${PNPM} install\``
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|META_FETCH_FAIL|error sending request/.test(
      output,
    )
  )
    return (
      'the package registry cannot be reached; ' +
      'check the network and the registry set in .npmrc'
    )
  if (/ENOSPC/.test(output)) return 'the disk is full; make room and run again'
  return `installing packages failed (\`npx ${PNPM} install\` ended with ${code})`
}
