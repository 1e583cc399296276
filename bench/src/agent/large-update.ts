import type { Rule } from '../../../packages/policy-core/src/index.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { ORG } from './machine.ts'

const CREATED_AT = '2026-11-01T00:00:00Z'
const POLICIES = 100
const RULES_PER_POLICY = 250
/** Of `POLICIES`. The others have network rules. */
const FILE_POLICIES = 30

/**
 * Adds 25,000 rules with every kind of resource to the organization in a data directory that no
 * server has open.
 */
export async function fillLargeUpdate(
  serverDir: string,
): Promise<{ readonly rules: number; readonly newlyAllowed: object }> {
  const store = openDataDirectory(serverDir)
  try {
    await store.transaction(async (writer) => {
      for (let at = 0; at < POLICIES; at += 1) {
        const id = `pol_large${at}`
        const times = { created_at: CREATED_AT, updated_at: CREATED_AT }
        await writer.policies.insert({ id, org: ORG, name: id, teams: [], ...times })
        const makeRule = at < FILE_POLICIES ? ruleOfFiles : ruleOfNetwork
        for (let n = 0; n < RULES_PER_POLICY; n += 1)
          await writer.policies.insertRule(
            { org: ORG, policyId: id, updated_at: CREATED_AT },
            { id: `rule_large${at}n${n}`, name: `rule ${n}`, ...makeRule(at, n) },
          )
      }
    })
  } finally {
    await store.close()
  }
  const host = `service-0.large${FILE_POLICIES}.example.com`
  return {
    rules: POLICIES * RULES_PER_POLICY,
    newlyAllowed: { action: 'connect:tcp', host, port: 443 },
  }
}

type Content = Pick<Rule, 'actions' | 'decision' | 'resources'>

function ruleOfFiles(at: number, n: number): Content {
  const directory = `/srv/large${at}/app${n}`
  const resource = [`${directory}/**`, `${directory}/*.log`, `${directory}/config.json`][n % 3]
  return { actions: ['read'], decision: 'allow', resources: [resource ?? directory] }
}

function ruleOfNetwork(at: number, n: number): Content {
  const name = `service-${n}.large${at}.example.com`
  const resources = [
    `${name}:443`,
    `*.${name}`,
    `**.${name}`,
    `10.${at}.${n}.7`,
    `100.${at}.${n}.0/28`,
  ]
  return {
    actions: ['connect:tcp'],
    decision: n % 10 === 9 ? 'deny' : 'allow',
    resources: [resources[n % resources.length] ?? name],
  }
}
