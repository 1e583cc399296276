import type { Bundle } from '@palisade/protocol'
import { randomBytes } from 'node:crypto'
import fastify from 'fastify'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { bundleRoute } from '../../../server/src/fleet/bundle-route.ts'
import { registerRoutes } from '../../../server/src/identity/routes/register-routes.ts'
import { createViewService, type ViewService } from '../../../server/src/views/view-service.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { ApiError } from '../../../server/src/platform/api-error.ts'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'
import type { Payer, WorkBudget } from '../../../server/src/work/work-budget.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { sendTogether } from './send-together.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const PERMISSIONS = ['organization:admin', 'policies:read', 'policies:write'] as const

describe('a bundle', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner
  let deviceId: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    const { enrolment } = await enrolTestDevice(test, owner.as, org, { user: alice })
    deviceId = enrolment.device_id
    for (const name of ['one', 'two', 'three']) await createPolicy(name)
  })

  async function createPolicy(name: string): Promise<void> {
    const made = await test.send('POST', `/v2/orgs/${org}/governance/policies`, {
      as: owner.as,
      payload: { name },
    })
    expect(made.statusCode, made.body).toBe(201)
  }

  const urlOf = () => `/api/v1/orgs/${org}/devices/${deviceId}/bundle`

  /** Counts open reads. */
  function openViews(): { readonly views: ViewService; readonly open: () => number } {
    let open = 0
    const store: Store = {
      ...test.store,
      async read(work) {
        open += 1
        try {
          return await test.store.read(work)
        } finally {
          open -= 1
        }
      },
    }
    const views = createViewService({
      store,
      now: () => new Date(test.now()),
      random: randomBytes,
      tokens: { read: () => null },
      lastSeen: { record: () => undefined },
    })
    onTestFinished(() => views.close())
    return { views, open: () => open }
  }

  it('is read and formatted one file at a time, without a snapshot in between', async () => {
    const { views, open } = openViews()
    let [turns, held] = [0, 0]
    const turn = async () => {
      turns += 1
      if (open() > 0) held += 1
      await nextTurn()
    }

    const text = (await views.bundle({ org, deviceId }, { turn })).toString()

    const bundle = JSON.parse(text) as Bundle
    expect(text).toBe(JSON.stringify(bundle))
    const count = Object.keys(bundle.files).length
    expect(count).toBe(7)
    expect([turns >= count, held]).toEqual([true, 0])
  })

  it('is consistent when policies change while it is made', async () => {
    const { views } = openViews()
    let isChanged = false
    const turn = async () => {
      if (!isChanged) await createPolicy('four')
      isChanged = true
    }

    const text = (await views.bundle({ org, deviceId }, { turn })).toString()

    const { files } = JSON.parse(text) as Bundle
    const documents = Object.keys(files).filter((name) => name.startsWith('targets/'))
    expect(documents).toHaveLength(3)
  })

  it('is made one at a time in an organization, with up to four waiting', async () => {
    const answers = await sendTogether(test, { count: 7, refusals: 2 }, () =>
      test.send('GET', urlOf(), { as: owner.as }),
    )

    const statuses = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    expect(refused.map(({ headers }) => headers['retry-after'])).toEqual(['1', '1'])
  })

  describe('is charged to the caller', () => {
    async function ask(budget: Pick<WorkBudget, 'begin'>) {
      const app = fastify()
      onTestFinished(() => app.close())
      app.setValidatorCompiler(() => () => true)
      app.setSerializerCompiler(() => JSON.stringify)
      const store = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
      const authenticate = async () => ({
        kind: 'user' as const,
        username: alice,
        tokenId: null,
        rootTokenId: null,
        permissions: PERMISSIONS,
      })
      const { views } = openViews()
      registerRoutes(app, { authenticate, store }, [bundleRoute({ store, budget, views })])
      app.setErrorHandler((error, _request, reply) =>
        reply.code(error instanceof ApiError ? error.status : 500).send(),
      )
      return app.inject({ method: 'GET', url: urlOf() })
    }

    it('for each turn up to the end', async () => {
      const told: (Payer | 'turn' | 'end')[] = []
      const answer = await ask({
        begin(payer) {
          told.push(payer)
          return {
            turn: async () => void told.push('turn'),
            run: (piece) => piece(),
            end: () => void told.push('end'),
            charge: () => undefined,
          }
        },
      })

      expect(answer.statusCode).toBe(200)
      expect(told[0]).toEqual({ org, caller: `user:${alice}`, isWriter: true })
      expect(told.slice(1)).toEqual([...Array.from({ length: 7 }, () => 'turn'), 'end'])
    })

    it('and refused without budget', async () => {
      const answer = await ask({
        begin() {
          throw new ApiError(429, 'limit_exceeded', 'nothing is left')
        },
      })

      expect(answer.statusCode).toBe(429)
    })
  })
})
