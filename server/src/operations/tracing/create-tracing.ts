import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import { ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log/create-log.ts'
import { isStoreDown } from '../../store/store-error.ts'
import type { StoreHook } from '../../store/store-hooks.ts'
import { parseTraceParent } from './trace-parent.ts'
import type { Tracing } from './tracing.ts'

const EXPORT_TIMEOUT_MS = 3_000
const CLOSE_WITHIN_MS = 5_000

/**
 * Records spans and sends them by OTLP over HTTP. The exporter reads its target from the
 * `OTEL_EXPORTER_OTLP_*` variables of the process. No tracer is registered globally.
 */
export function createTracing(options: {
  readonly serviceName: string
  readonly version: string
  /** Share of the traces that are recorded, from 0 to 1. */
  readonly ratio: number
  readonly log: Log
}): Tracing {
  const provider = createProvider(options)
  const tracer = provider.getTracer('palisade-server', options.version)
  const active = new AsyncLocalStorage<Span>()
  const spans = new WeakMap<FastifyRequest, Span>()
  return {
    observeRequests(app) {
      app.addHook('onRequest', (request, reply, done) => {
        const span = startRequestSpan(tracer, request)
        spans.set(request, span)
        reply.raw.on('close', () => endRequestSpan(span, reply))
        active.run(span, done)
      })
    },
    store: traceStore(tracer, active),
    traceIdOf(request) {
      const context = spans.get(request)?.spanContext()
      // Not `isRecording`: the line is written when the span has ended.
      const isSampled = ((context?.traceFlags ?? 0) & TraceFlags.SAMPLED) !== 0
      return isSampled ? (context?.traceId ?? null) : null
    },
    async close() {
      const isOver = provider.shutdown().catch(() => undefined)
      await Promise.race([isOver, pause(CLOSE_WITHIN_MS, undefined, { ref: false })])
    },
  }
}

function createProvider(options: Parameters<typeof createTracing>[0]): TracerProvider {
  // A caller's sampling flag does not count: callers could fill the collector, or stay out of it.
  const root = new TraceIdRatioBasedSampler(options.ratio)
  const sampler = new ParentBasedSampler({
    root,
    remoteParentSampled: root,
    remoteParentNotSampled: root,
  })
  const exporter = reportExport(
    new OTLPTraceExporter({ timeoutMillis: EXPORT_TIMEOUT_MS }),
    options.log,
  )
  return new TracerProvider({
    sampler,
    resource: resourceFromAttributes({
      'service.name': options.serviceName,
      'service.version': options.version,
    }),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  })
}

/** Names the route and never the path, which is the client's text. */
function startRequestSpan(tracer: Tracer, request: FastifyRequest): Span {
  const route = request.is404 ? undefined : request.routeOptions.url
  const parent = parseTraceParent(request.headers['traceparent'])
  return tracer.startSpan(
    route === undefined ? request.method : `${request.method} ${route}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': request.method,
        ...(route === undefined ? {} : { 'http.route': route }),
        'palisade.request_id': request.id,
      },
    },
    parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
  )
}

function endRequestSpan(span: Span, reply: FastifyReply): void {
  span.setAttribute('http.response.status_code', reply.statusCode)
  if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

function traceStore(tracer: Tracer, active: AsyncLocalStorage<Span>): StoreHook {
  return (operation) => {
    const parent = active.getStore()
    // Work of the server on its own account belongs to no trace.
    if (parent === undefined || operation === 'ping') return null
    const span = tracer.startSpan(`store.${operation}`, {}, trace.setSpan(ROOT_CONTEXT, parent))
    return {
      onEnd(error) {
        if (isStoreDown(error)) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }
}

/**
 * The same exporter; the log hears when it begins to fail and when it works again, not each time.
 * The exporter's own words are left out: they may quote the address and headers of the collector.
 */
function reportExport(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== ExportResultCode.SUCCESS
        if (hasFailed && !isFailing) log.warn('traces cannot be exported; they are dropped')
        if (!hasFailed && isFailing) log.info('traces are exported again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
