import { delimiter, dirname, join, resolve } from 'node:path'

/**
 * The user's working directory. npm changes to the package's folder and keeps the user's in
 * INIT_CWD; an INIT_CWD that an outer npm has set is ignored.
 *
 * @param {{ root: string, task: string, cwd: string, env: NodeJS.ProcessEnv }} from
 * @returns {string}
 */
export function userFolder({ root, task, cwd, env }) {
  const ours = env['npm_lifecycle_event'] === task && resolve(cwd) === resolve(root)
  return ours ? (env['INIT_CWD'] ?? cwd) : cwd
}

/**
 * The environment of our tools: their Node first on PATH, then the installed programs.
 *
 * @param {string} root
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function toolEnvironment(root, node, env) {
  const path = [dirname(node), join(root, 'node_modules', '.bin'), env['PATH'] ?? '']
  return { ...env, PATH: path.join(delimiter) }
}

/**
 * The caller's environment with an absolute data directory, so that every command uses the same
 * one. PATH stays: a command of the product runs programs of the user.
 *
 * @param {string} root
 * @param {string} folder the user's
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function productEnvironment(root, folder, env) {
  const given = env['PALISADE_DATA_DIR']
  const dataDir =
    given === undefined || given === '' ? join(root, '.palisade') : resolve(folder, given)
  return { ...env, PALISADE_DATA_DIR: dataDir }
}
