import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isAtLeast, MINIMUM_NODE } from '../../packages/launcher/prepare/choose-node.mjs'
import { bundleOf, CLI } from '../../packages/launcher/programs.mjs'

const ROOT = join(import.meta.dirname, '..', '..')
const OLDEST_NODE = '18.0.0'

/** Version of the system's `node`, which is not the one that runs the tests; null without one. */
function systemVersion(): string | null {
  const { status, stdout } = systemNode(['--version'])
  return status === 0 ? stdout.trim().replace(/^v/, '') : null
}

function systemNode(args: readonly string[]) {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  return spawnSync('node', args, { cwd: ROOT, env, encoding: 'utf8' })
}

const version = systemVersion()
const isOld =
  version !== null && isAtLeast(version, OLDEST_NODE) && !isAtLeast(version, MINIMUM_NODE)
const why = isOld ? version : `not from ${OLDEST_NODE} to below ${MINIMUM_NODE}: ${version}`

describe(`the command, by the Node of the system (${why})`, () => {
  it.skipIf(!isOld)('prints its help', () => {
    const { status, stdout, stderr } = systemNode([bundleOf(CLI), '--help'])

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('Usage: palisade')
  })

  it.skipIf(!isOld).each([
    ['allow', 'npm.example.com:443', 0],
    ['deny', 'evil.example:443', 1],
  ])('answers %s for %s with a policy file', (decision, target, exit) => {
    const request = ['check', 'connect:tcp', target, '--policies', 'examples/policies.json']

    const { status, stdout, stderr } = systemNode([bundleOf(CLI), ...request])

    expect({ status, stderr }).toEqual({ status: exit, stderr: '' })
    expect(stdout).toContain(`${decision}  connect:tcp ${target}`)
  })
})
