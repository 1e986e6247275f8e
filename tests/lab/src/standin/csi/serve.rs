//! Answering unary gRPC calls without generated code.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::{
    Empty, GET_INFO, NODE_GET_CAPABILITIES, NODE_GET_INFO, NODE_PUBLISH_VOLUME, NODE_UNPUBLISH_VOLUME,
    NOTIFY_REGISTRATION_STATUS, NodeGetInfoResponse, NodePublishVolumeRequest, NodeUnpublishVolumeRequest, PluginInfo,
};

/// What the two sockets answer.
pub trait Answers: Send + Sync + 'static {
    /// Who is behind the registration socket.
    fn info(&self) -> PluginInfo;
    /// Gives a volume.
    fn publish(&self, request: &NodePublishVolumeRequest) -> Result<Empty, Status>;
    /// Takes a volume away.
    fn unpublish(&self, request: &NodeUnpublishVolumeRequest) -> Result<Empty, Status>;
}

/// The registration service.
#[derive(Clone)]
pub struct Registration(pub Arc<dyn Answers>);
/// The node service.
#[derive(Clone)]
pub struct NodeService(pub Arc<dyn Answers>);

impl NamedService for Registration {
    const NAME: &'static str = "pluginregistration.Registration";
}

impl NamedService for NodeService {
    const NAME: &'static str = "csi.v1.Node";
}

type HttpAnswer = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Registration {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = HttpAnswer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> HttpAnswer {
        let answers = Arc::clone(&self.0);
        match request.uri().path() {
            GET_INFO => unary(request, move |_: Empty| Ok(answers.info())),
            NOTIFY_REGISTRATION_STATUS => unary(request, |_: Empty| Ok(Empty {})),
            _ => unimplemented(),
        }
    }
}

impl Service<http::Request<Body>> for NodeService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = HttpAnswer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> HttpAnswer {
        let answers = Arc::clone(&self.0);
        match request.uri().path() {
            NODE_GET_INFO => unary(request, |_: Empty| Ok(NodeGetInfoResponse { node_id: "lab".to_owned() })),
            // None: no stage, no statistics.
            NODE_GET_CAPABILITIES => unary(request, |_: Empty| Ok(Empty {})),
            NODE_PUBLISH_VOLUME => unary(request, move |question| answers.publish(&question)),
            NODE_UNPUBLISH_VOLUME => unary(request, move |question| answers.unpublish(&question)),
            _ => unimplemented(),
        }
    }
}

/// Turns a function into the service that tonic calls for one method.
struct Unary<F>(F);

impl<F, Q, A> UnaryService<Q> for Unary<(F, std::marker::PhantomData<A>)>
where
    F: Fn(Q) -> Result<A, Status>,
{
    type Response = A;
    type Future = std::future::Ready<Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready((self.0.0)(request.into_inner()).map(Response::new))
    }
}

fn unary<Q, A, F>(request: http::Request<Body>, function: F) -> HttpAnswer
where
    Q: prost::Message + Default + Send + 'static,
    A: prost::Message + Default + Send + 'static,
    F: Fn(Q) -> Result<A, Status> + Send + 'static,
{
    Box::pin(async move {
        let mut grpc = Grpc::new(ProstCodec::<A, Q>::default());
        Ok(grpc.unary(Unary((function, std::marker::PhantomData)), request).await)
    })
}

fn unimplemented() -> HttpAnswer {
    Box::pin(ready(Ok(Status::unimplemented("the lab's driver does not have this call").into_http())))
}
