// Without a schema, so that `palisade run` starts without the schema library.

/** The path for sandboxes in the agent's local API; see `local-api.ts`. */
export const SANDBOXES_PATH = '/v1/sandboxes'

/** The host name in every sandbox, of its own loopback. */
export const SANDBOX_HOSTNAME = 'sandbox'

/**
 * The address of every sandbox beside loopback. Without one, programs that resolve with
 * `AI_ADDRCONFIG` get no address. From the documentation range of RFC 5737, which no target has.
 */
export const SANDBOX_ADDRESS = '198.51.100.1'

/** The proxy inside every sandbox, on the sandbox's own loopback. */
export const SANDBOX_PROXY = 'http://127.0.0.1:3128'

/** The part of the local API that a sandbox may ask, on the sandbox's own loopback. */
export const SANDBOX_AGENT = 'http://127.0.0.1:3130'

/** Directory inside with the command `palisade`, where the agent finds it on the machine. */
export const SANDBOX_PROGRAMS = '/run/palisade/bin'

/** A file in every sandbox. Outside, only root can make one at this path. */
export const SANDBOX_MARK = '/run/palisade/empty-file'
