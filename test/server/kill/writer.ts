import { randomUUID } from 'node:crypto'
import { untilAnswered } from './until-answered.ts'

/** The current origin of the server and the writer's token. */
export interface Access {
  readonly origin: string
  readonly token: string
}

/** One policy as its writer knows it from acknowledged writes. */
export interface KnownPolicy {
  name: string
  /** Names by id, in order of creation. */
  readonly rules: Map<string, string>
}

/** Sends one write after the other and remembers the acknowledged ones. */
export interface Writer {
  /**
   * Writes until a request is not acknowledged, which is kept for `settle`, or until `signal`: a
   * database may restart without an effect on this writer. Calls `onAcknowledged` for each write.
   */
  work(access: Access, signal: AbortSignal, onAcknowledged: () => void): Promise<void>
  /** Repeats the unacknowledged request and the last creation. */
  settle(access: Access): Promise<void>
  /** The expected policies after `settle`. */
  readonly known: ReadonlyMap<string, KnownPolicy>
}

interface Intent {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
  readonly key?: string
  acknowledge(answer: Acknowledged): void
}

interface Acknowledged {
  readonly id?: string
}

interface Reply {
  readonly status: number
  readonly replayed: boolean
  readonly body: Acknowledged
}

const POLICIES = '/v2/orgs/acme/governance/policies'
/** Writes to one policy before the next one is created. */
const STEPS = 8

export function createWriter(index: number): Writer {
  const known = new Map<string, KnownPolicy>()
  let pending: Intent | null = null
  let lastCreation: { readonly intent: Intent; readonly id: string } | null = null
  let count = 0
  let policyId = ''

  function nextName(kind: string): string {
    return `${kind} ${String(count)} of writer ${String(index)}`
  }

  function nextIntent(): Intent {
    const step = count % STEPS
    count += 1
    const policy = known.get(policyId)
    if (step === 0 || policy === undefined) return createPolicyIntent()
    const [firstRule] = policy.rules.keys()
    if (step === 4) return renamePolicy(policyId, policy)
    if (step === 6 && firstRule !== undefined) return deleteRule(policyId, policy, firstRule)
    if (step === 7 && firstRule !== undefined) return renameRule(policyId, policy, firstRule)
    return createRuleIntent(policyId, policy)
  }

  function createPolicyIntent(): Intent {
    const name = nextName('policy')
    return creation(POLICIES, { name }, (id) => {
      policyId = id
      known.set(id, { name, rules: new Map() })
    })
  }

  function createRuleIntent(id: string, policy: KnownPolicy): Intent {
    const name = nextName('rule')
    const rule = { actions: ['connect:tcp'], decision: 'allow', resources: ['example.com'] }
    return creation(`${POLICIES}/${id}/rules`, { name, ...rule }, (ruleId) => {
      policy.rules.set(ruleId, name)
    })
  }

  function creation(path: string, body: object, remember: (id: string) => void): Intent {
    const intent: Intent = {
      method: 'POST',
      path,
      body,
      key: randomUUID(),
      acknowledge({ id = '' }) {
        remember(id)
        lastCreation = { intent, id }
      },
    }
    return intent
  }

  function renamePolicy(id: string, policy: KnownPolicy): Intent {
    const name = nextName('renamed policy')
    const acknowledge = (): void => {
      policy.name = name
    }
    return { method: 'PATCH', path: `${POLICIES}/${id}`, body: { name }, acknowledge }
  }

  function renameRule(id: string, policy: KnownPolicy, ruleId: string): Intent {
    const name = nextName('renamed rule')
    const path = `${POLICIES}/${id}/rules/${ruleId}`
    const acknowledge = (): void => void policy.rules.set(ruleId, name)
    return { method: 'PATCH', path, body: { name }, acknowledge }
  }

  function deleteRule(id: string, policy: KnownPolicy, ruleId: string): Intent {
    const path = `${POLICIES}/${id}/rules/${ruleId}`
    return { method: 'DELETE', path, acknowledge: () => void policy.rules.delete(ruleId) }
  }

  return {
    known,
    async work(access, signal, onAcknowledged) {
      while (!signal.aborted) {
        pending = nextIntent()
        const reply = await send(access, pending)
        if (reply === null) return
        requireTaken(pending, reply, [])
        pending.acknowledge(reply.body)
        pending = null
        onAcknowledged()
      }
    },

    async settle(access) {
      if (pending !== null) {
        const sent = pending
        const reply = await untilAnswered(() => send(access, sent))
        // A deletion may have succeeded before the kill.
        requireTaken(pending, reply, pending.method === 'DELETE' ? [404] : [])
        pending.acknowledge(reply.body)
        pending = null
      }
      if (lastCreation === null) return
      const { intent, id } = lastCreation
      const again = await untilAnswered(() => send(access, intent))
      if (again.status !== 201 || !again.replayed || again.body.id !== id)
        throw new Error(`an acknowledged creation was applied again: ${JSON.stringify(again)}`)
    },
  }
}

function requireTaken(intent: Intent, reply: Reply, others: readonly number[]): void {
  const good = [intent.method === 'POST' ? 201 : 200, ...others]
  if (!good.includes(reply.status))
    throw new Error(`${intent.method} ${intent.path} answered ${JSON.stringify(reply)}`)
}

/** Returns null when the request was not acknowledged: without a complete answer, or with 503. */
async function send({ origin, token }: Access, intent: Intent): Promise<Reply | null> {
  try {
    const response = await fetch(`${origin}${intent.path}`, {
      method: intent.method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(intent.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(intent.key === undefined ? {} : { 'idempotency-key': intent.key }),
      },
      ...(intent.body === undefined ? {} : { body: JSON.stringify(intent.body) }),
    })
    const body = (await response.json()) as Acknowledged
    if (response.status === 503) return null
    const replayed = response.headers.get('idempotency-replayed') === 'true'
    return { status: response.status, replayed, body }
  } catch {
    return null
  }
}
