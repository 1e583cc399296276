declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * For a request other than DELETE that only ends something, such as the withdrawal of a request
     * for access.
     */
    ends?: true
  }
}

/** Whether the requests of a route only end something. No rate limit refuses them. */
export function endsSomething({
  method,
  config,
}: {
  readonly method: string | readonly string[]
  readonly config?: { readonly ends?: true }
}): boolean {
  return method === 'DELETE' || config?.ends === true
}
