import { delimiter, join } from 'node:path'
import { captureChild } from '../process/capture-child.mjs'
import { installFingerprint } from './fingerprint.mjs'
import { LaunchError } from './launch-error.mjs'
import { withLock } from './lock.mjs'
import { readStamp, stampPath, writeStamp } from './stamp.mjs'

export const PNPM = 'pnpm@12.21.0'
const STAMP = 'install.json'

/**
 * Installs what the lock file names, unless that is what is there. Later runs touch no network.
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
 * The same for a folder that its task can do without: says why it failed, and goes on.
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
    tell(`going on without \`${folder}\`: ${error.message}`)
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
 * npm puts node_modules/.bin first, and the Node in there is being replaced under npx's feet.
 *
 * @param {string} root
 */
function pathWithoutOwnBinaries(root) {
  const own = join(root, 'node_modules')
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.filter((folder) => !folder.startsWith(own)).join(delimiter)
}

/**
 * Says in one line why the installation failed, then shows what the installer said.
 *
 * @param {{ code: number, output: string, missing: boolean }} run
 * @returns {string}
 */
export function explainFailure(run) {
  if (run.missing) return 'npx was not found; install npm, which comes with Node, and run again'
  const noise = run.output.trim().split('\n').slice(-40).join('\n')
  return `${causeOf(run)}\n${noise}`.trimEnd()
}

/** @param {{ code: number, output: string }} run */
function causeOf({ code, output }) {
  if (/ERR_PNPM_OUTDATED_LOCKFILE/.test(output))
    return `pnpm-lock.yaml does not fit the package.json files; run \`npx ${PNPM} install\``
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|META_FETCH_FAIL|error sending request/.test(
      output,
    )
  )
    return 'the package registry cannot be reached; check the network and the registry set in .npmrc'
  if (/ENOSPC/.test(output)) return 'the disk is full; make room and run again'
  return `installing packages failed (\`npx ${PNPM} install\` ended with ${code})`
}
