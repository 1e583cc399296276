#!/usr/bin/env node
// Prepares a fresh machine, then runs one task. Must run on Node 18 without installed packages.
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { productEnvironment, toolEnvironment, userFolder } from './environment.mjs'
import { ensureBuilt } from './prepare/build.mjs'
import { chooseNode, isAtLeast, MINIMUM_NODE } from './prepare/choose-node.mjs'
import { ensureInstalled, tryInstall } from './prepare/install.mjs'
import { LaunchError } from './prepare/launch-error.mjs'
import { runChild } from './process/run-child.mjs'
import { TASKS, usage } from './tasks.mjs'

/** @param {string} line */
function tell(line) {
  process.stderr.write(`palisade: ${line}\n`)
}

/**
 * @param {string} root
 * @param {readonly string[]} argv
 * @returns {Promise<number>} the exit code
 */
async function run(root, argv) {
  const [name = '', ...args] = argv
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined
  if (task === undefined) {
    process.stderr.write(`${usage()}\n`)
    return name === '--help' ? 0 : 2
  }
  if (!isAtLeast(process.versions.node, '18.0.0'))
    throw new LaunchError(
      `Node ${process.versions.node} is too old; Node 18 or newer is needed`,
      78,
    )
  requireTypes(root, task)
  await ensureInstalled(root, tell)
  if (task.extra !== undefined) await tryInstall(join(root, task.extra), tell)
  const node = nodeFor(root)
  if (task.build !== 'nothing') await ensureBuilt(root, node, task.build, tell)
  return runSteps(root, node, name, args)
}

/**
 * Node strips no types from files below `node_modules`.
 *
 * @param {string} root
 * @param {import('./tasks.mjs').Task} task
 */
function requireTypes(root, { steps }) {
  const isTypeScript = steps.some(([file = '']) => file.endsWith('.ts'))
  if (!isTypeScript || !root.split(sep).includes('node_modules')) return
  throw new LaunchError(
    `\`${root}\` is below \`node_modules\`, where Node runs no TypeScript; move it elsewhere`,
    78,
  )
}

/** @param {string} root */
function nodeFor(root) {
  const running = { version: process.versions.node, path: process.execPath, arch: process.arch }
  const node = chooseNode(root, running)
  if (node !== null) return node
  const machine = `${process.platform} ${process.arch}`
  throw new LaunchError(
    `Node ${running.version} is too old and none is bundled for ${machine}; ` +
      `install Node ${MINIMUM_NODE} or newer`,
    78,
  )
}

/**
 * Runs every step even if an earlier one failed, so that `check` shows all problems.
 *
 * @param {string} root
 * @param {string} node
 * @param {string} name
 * @param {readonly string[]} args
 */
async function runSteps(root, node, name, args) {
  const task = TASKS[name]
  if (task === undefined) return 2
  const folder = userFolder({ root, task: name, cwd: process.cwd(), env: process.env })
  const own = task.product
    ? productEnvironment(root, folder, process.env)
    : toolEnvironment(root, node, process.env)
  const env = { ...task.environment, ...own }
  const cwd = task.product ? folder : root
  let code = 0
  for (const [index, [file = '', ...fixed]] of task.steps.entries()) {
    const last = index === task.steps.length - 1
    const words = [join(root, file), ...fixed, ...(last ? args : [])]
    const stepArgs = [...(task.nodeOptions ?? []), ...words]
    const result = await runChild(node, stepArgs, { cwd, env })
    if (code === 0) code = result
  }
  return code
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
try {
  process.exitCode = await run(root, process.argv.slice(2))
} catch (error) {
  tell(error instanceof LaunchError ? error.message : String(error))
  process.exitCode = error instanceof LaunchError ? error.exitCode : 1
}
