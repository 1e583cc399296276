import { factRow, runRow } from './rows.mjs'
import { syncAgent } from './sync-agent.mjs'

/** @typedef {import('./rows.mjs').Row} Row */

/**
 * A rule is turned from allow to deny while everything runs, and back.
 *
 * @param {import('./world.mjs').World} world
 * @param {import('./administration.mjs').Administrator} administrator
 * @param {import('./administration.mjs').AppliedPolicy} policy
 * @returns {AsyncGenerator<Row>}
 */
export async function* liveChange(world, administrator, policy) {
  const ruleId = policy.rules.get('package registry') ?? ''
  const request = {
    program: /** @type {const} */ ('curl'),
    target: 'http://packages.demo.test:${port}/',
  }
  const rule = 'package registry'

  await administrator.changeRule(policy.id, ruleId, { decision: 'deny' })
  yield await syncRow(world, 'rule turned to deny, fetched')
  const denied = /** @type {const} */ ({ decision: 'deny', reason: 'rule', rule })
  yield await runRow(world, { ...request, what: 'allowed host, now denied', expect: denied })

  await administrator.changeRule(policy.id, ruleId, { decision: 'allow' })
  yield await syncRow(world, 'rule turned back, fetched')
  const allowed = /** @type {const} */ ({ decision: 'allow', reason: 'rule', rule })
  yield await runRow(world, { ...request, what: 'allowed again', expect: allowed })
}

/**
 * @param {import('./world.mjs').World} world
 * @param {string} what
 * @returns {Promise<Row>}
 */
export async function syncRow(world, what) {
  const result = await syncAgent(world)
  const ok = result.outcome === 'updated'
  const said = `revision ${result.revision}${result.error === null ? '' : `; ${result.error.message}`}`
  const row = { what, program: 'palisade', target: 'sync', expected: 'updated' }
  return factRow(row, { ok, actual: result.outcome, said })
}
