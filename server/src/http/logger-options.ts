import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DestinationStream, LoggerOptions } from 'pino'

/** How much is logged, and where to; standard output by default. */
export interface LogSettings {
  readonly level: string
  readonly stream?: DestinationStream | undefined
}

/** Settings of a pino logger that never sees a credential or a body. */
export function createLoggerOptions(
  settings: LogSettings,
): LoggerOptions & { stream?: DestinationStream } {
  return {
    level: settings.level,
    ...(settings.stream === undefined ? {} : { stream: settings.stream }),
    // The serializers below already leave headers out; this holds for whoever logs a raw object.
    redact: ['req.headers', 'headers', 'authorization', 'password', 'secret', 'token'],
    serializers: {
      // A query may carry a user's name or a page token; the path is enough to follow a request.
      req: (request: FastifyRequest) => ({
        method: request.method,
        path: request.url?.split('?', 1)[0],
        remote_address: request.ip,
      }),
      res: (reply: FastifyReply) => ({ status: reply.statusCode }),
    },
  }
}
