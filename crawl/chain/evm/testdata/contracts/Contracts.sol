// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// The contracts that settlements go through, as small as they can be: what counts here are their events and their checks of
// signatures. compile.mjs makes contracts.json of them.

interface IERC1271 {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

// A token with EIP-3009 in both forms, and EIP-1271 for payers that are contracts. It also has the transfer with a memo of
// Tempo's TIP-20, with that standard's two events.
contract Token {
    bytes32 constant TRANSFER = keccak256("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");
    bytes32 constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo);

    constructor() {
        balanceOf[msg.sender] = 1e18;
        emit Transfer(address(0), msg.sender, 1e18);
    }

    function domainSeparator() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN, keccak256("USD Coin"), keccak256("2"), block.chainid, address(this)));
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferWithMemo(address to, uint256 amount, bytes32 memo) external {
        move(msg.sender, to, amount);
        emit TransferWithMemo(msg.sender, to, amount, memo);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        authorize(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes calldata signature) external {
        authorize(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function authorize(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes memory signature) internal {
        require(block.timestamp > validAfter && block.timestamp < validBefore, "time");
        require(!authorizationState[from][nonce], "used");
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", domainSeparator(), keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce))));
        require(signedBy(from, digest, signature), "signature");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        move(from, to, value);
    }

    function signedBy(address who, bytes32 digest, bytes memory signature) internal view returns (bool) {
        if (who.code.length > 0) return IERC1271(who).isValidSignature(digest, signature) == IERC1271.isValidSignature.selector;
        return who != address(0) && recover(digest, signature) == who;
    }

    function recover(bytes32 digest, bytes memory signature) internal pure returns (address) {
        require(signature.length == 65, "length");
        bytes32 r; bytes32 s; uint8 v;
        assembly { r := mload(add(signature, 32)) s := mload(add(signature, 64)) v := byte(0, mload(add(signature, 96))) }
        return ecrecover(digest, v, r, s);
    }

    function move(address from, address to, uint256 value) internal virtual {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

// A token that takes a fee in a Transfer of its own, before the payment or after it.
contract FeeToken is Token {
    address constant COLLECTOR = address(0xfee);
    bool immutable first;

    constructor(bool f) { first = f; }

    function move(address from, address to, uint256 value) internal override {
        if (first) super.move(from, COLLECTOR, 3);
        super.move(from, to, value);
        if (!first) super.move(from, COLLECTOR, 3);
    }
}

// A wallet that is a contract, with one owner.
contract Wallet {
    address immutable owner;

    constructor(address o) { owner = o; }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(digest, uint8(signature[64]), r, s) == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

// Many calls in one transaction, all or none.
contract Batch {
    struct Call { address target; bytes data; }

    function aggregate(Call[] calldata calls) external {
        for (uint256 i; i < calls.length; ++i) {
            (bool ok, ) = calls[i].target.call(calls[i].data);
            require(ok, "call");
        }
    }
}

// What a Permit2 proxy of x402 shows of itself: a transfer by allowance, then its event.
contract Proxy {
    event Settled();

    function settle(Token token, address from, address to, uint256 value) external {
        token.transferFrom(from, to, value);
        emit Settled();
    }
}

// What the batch-settlement contract of x402 shows when money leaves it: a transfer of what it holds, then its event. The
// caller says how much, because claims move nothing.
contract BatchSettlement {
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);

    function settle(address receiver, Token token, uint128 amount) external {
        token.transfer(receiver, amount);
        emit Settled(receiver, address(token), msg.sender, amount);
    }

    function refund(address payer, Token token, uint128 amount) external {
        token.transfer(payer, amount);
        emit Refunded(bytes32(0), msg.sender, amount);
    }
}
